// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// Kinds whose versions OpenKruise's users can tell apart are defaulted and validated in the version they are
// sent in; the others as v1beta1.
//
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-advancedcronjob,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=advancedcronjobs,verbs=create;update,versions=v1beta1,name=madvancedcronjob.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-broadcastjob,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=broadcastjobs,verbs=create;update,versions=v1beta1,name=mbroadcastjob.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-cloneset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1beta1,name=mcloneset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-cloneset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1alpha1,name=mcloneset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-daemonset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=daemonsets,verbs=create;update,versions=v1beta1,name=mdaemonset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-daemonset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=daemonsets,verbs=create;update,versions=v1alpha1,name=mdaemonset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-statefulset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=statefulsets,verbs=create;update,versions=v1beta1,name=mstatefulset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-uniteddeployment,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=uniteddeployments,verbs=create;update,versions=v1beta1,name=muniteddeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-advancedcronjob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=advancedcronjobs,verbs=create;update,versions=v1beta1,name=vadvancedcronjob.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-broadcastjob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=broadcastjobs,verbs=create;update,versions=v1beta1,name=vbroadcastjob.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-cloneset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1beta1,name=vcloneset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-cloneset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1alpha1,name=vcloneset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-daemonset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=daemonsets,verbs=create;update,versions=v1beta1,name=vdaemonset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-daemonset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=daemonsets,verbs=create;update,versions=v1alpha1,name=vdaemonset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-statefulset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=statefulsets,verbs=create;update,versions=v1beta1,name=vstatefulset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-uniteddeployment,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=uniteddeployments,verbs=create;update,versions=v1beta1,name=vuniteddeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

func workloadWebhooks(scheme *runtime.Scheme, f Facts) map[string]*admission.Webhook {
	return map[string]*admission.Webhook{
		"/mutate-apps-kruise-io-advancedcronjob": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.AdvancedCronJob) {
			appsv1beta1.DefaultAdvancedCronJob(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/mutate-apps-kruise-io-broadcastjob": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.BroadcastJob) {
			appsv1beta1.DefaultBroadcastJob(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/mutate-apps-kruise-io-cloneset": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.CloneSet) {
			appsv1beta1.DefaultCloneSet(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/mutate-apps-kruise-io-v1alpha1-cloneset": webhookserver.Defaulting(scheme, func(old, obj *appsv1alpha1.CloneSet) {
			appsv1alpha1.DefaultCloneSet(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/mutate-apps-kruise-io-daemonset": webhookserver.Defaulting(scheme, func(_, obj *appsv1beta1.DaemonSet) {
			appsv1beta1.DefaultDaemonSet(obj)
		}),
		"/mutate-apps-kruise-io-v1alpha1-daemonset": webhookserver.Defaulting(scheme, func(_, obj *appsv1alpha1.DaemonSet) {
			appsv1alpha1.DefaultDaemonSet(obj)
		}),
		"/mutate-apps-kruise-io-statefulset": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.StatefulSet) {
			appsv1beta1.DefaultStatefulSet(obj, appsv1beta1.StatefulSetDefaultOptions{
				DefaultOptions: defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)),
				AutoDeletePVC:  features.Enabled(features.StatefulSetAutoDeletePVC),
				AutoResizePVC:  features.Enabled(features.StatefulSetAutoResizePVCGate),
			})
		}),
		"/mutate-apps-kruise-io-uniteddeployment": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.UnitedDeployment) {
			appsv1beta1.DefaultUnitedDeployment(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/validate-apps-kruise-io-advancedcronjob":    webhookserver.Validating(scheme, warned(validation.UnsupportedInAdvancedCronJob, rules(validation.ValidateAdvancedCronJob))),
		"/validate-apps-kruise-io-broadcastjob":       webhookserver.Validating(scheme, warned(validation.UnsupportedInBroadcastJob, rules(validation.ValidateBroadcastJob))),
		"/validate-apps-kruise-io-cloneset":           webhookserver.Validating(scheme, warned(validation.CloneSetWarnings[*appsv1beta1.CloneSet], rules(validation.ValidateCloneSet))),
		"/validate-apps-kruise-io-v1alpha1-cloneset":  webhookserver.Validating(scheme, warned(validation.CloneSetWarnings[*appsv1alpha1.CloneSet], f.oldCloneSetRules())),
		"/validate-apps-kruise-io-daemonset":          webhookserver.Validating(scheme, rules(validation.ValidateDaemonSet)),
		"/validate-apps-kruise-io-v1alpha1-daemonset": webhookserver.Validating(scheme, rules(validation.ValidateOldDaemonSet)),
		"/validate-apps-kruise-io-statefulset":        webhookserver.Validating(scheme, with(f.claimResizing, validation.ValidateStatefulSet)),
		"/validate-apps-kruise-io-uniteddeployment":   webhookserver.Validating(scheme, rules(validation.ValidateUnitedDeployment)),
	}
}
