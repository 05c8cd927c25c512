// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/podtemplate"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// Objects on the hub are defaulted and validated as in a member, and besides for what a fleet cannot do.
//
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-cloneset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1beta1,name=mcloneset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-cloneset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1alpha1,name=mcloneset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-uniteddeployment,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=uniteddeployments,verbs=create;update,versions=v1beta1,name=muniteddeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-cloneset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1beta1,name=vcloneset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-cloneset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=create;update,versions=v1alpha1,name=vcloneset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-uniteddeployment,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=uniteddeployments,verbs=create;update,versions=v1beta1,name=vuniteddeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-fleet-kruise-io-fleetplacement,mutating=false,failurePolicy=fail,sideEffects=None,groups=fleet.kruise.io,resources=fleetplacements,verbs=create;update,versions=v1alpha1,name=vfleetplacement.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

// What the webhook keeper needs: its own Secret, its own webhook configurations, and the CRDs whose
// conversion it serves; and what leader election needs.
//
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=secrets,resourceNames=flotilla-hub-webhook-certs,verbs=get;list;watch;update
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flotilla-system,resources=leases,resourceNames=flotilla-hub,verbs=get;update
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flotilla-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=flotilla-hub,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=advancedcronjobs.apps.kruise.io;broadcastjobs.apps.kruise.io;clonesets.apps.kruise.io;containerrecreaterequests.apps.kruise.io;daemonsets.apps.kruise.io;imagelistpulljobs.apps.kruise.io;imagepulljobs.apps.kruise.io;nodeimages.apps.kruise.io;persistentpodstates.apps.kruise.io;resourcedistributions.apps.kruise.io;sidecarsets.apps.kruise.io;statefulsets.apps.kruise.io;uniteddeployments.apps.kruise.io;workloadspreads.apps.kruise.io;podunavailablebudgets.policy.kruise.io;batchreleases.rollouts.kruise.io;rollouts.rollouts.kruise.io,verbs=patch

// admissionWebhooks are all admission webhooks by path.
func admissionWebhooks(scheme *runtime.Scheme, placements placementRules) map[string]*admission.Webhook {
	return map[string]*admission.Webhook{
		"/mutate-apps-kruise-io-cloneset": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.CloneSet) {
			appsv1beta1.DefaultCloneSet(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/mutate-apps-kruise-io-v1alpha1-cloneset": webhookserver.Defaulting(scheme, func(old, obj *appsv1alpha1.CloneSet) {
			appsv1alpha1.DefaultCloneSet(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/mutate-apps-kruise-io-uniteddeployment": webhookserver.Defaulting(scheme, func(old, obj *appsv1beta1.UnitedDeployment) {
			appsv1beta1.DefaultUnitedDeployment(obj, defaultOptions(old == nil || appsv1beta1.TemplatesChanged(&old.Spec.Template, &obj.Spec.Template)))
		}),
		"/validate-apps-kruise-io-cloneset":          webhookserver.Validating(scheme, rules(validation.ValidateCloneSet)),
		"/validate-apps-kruise-io-v1alpha1-cloneset": webhookserver.Validating(scheme, rules(validation.ValidateOldCloneSet)),
		"/validate-apps-kruise-io-uniteddeployment": webhookserver.Validating(scheme, rules(func(old, obj *appsv1beta1.UnitedDeployment) field.ErrorList {
			return append(validation.ValidateUnitedDeployment(old, obj), validation.ValidateUnitedDeploymentOnHub(old, obj)...)
		})),
		"/validate-fleet-kruise-io-fleetplacement": webhookserver.Validating(scheme, placements.check),
	}
}

// addWebhooks serves admission and conversion, and keeps the API server told of them.
func addWebhooks(mgr manager.Manager, hooks *webhookserver.Options) error {
	dividers, err := newDividers(mgr)
	if err != nil {
		return err
	}
	server := mgr.GetWebhookServer()
	for path, hook := range admissionWebhooks(mgr.GetScheme(), placementRules{mgr.GetCache(), dividers}) {
		server.Register(path, hook)
	}
	server.Register(convert.Path, convert.Handler(mgr.GetScheme()))
	return errors.Join(
		hooks.AddKeeper(mgr),
		mgr.AddReadyzCheck("webhook-certificate", hooks.Ready),
		mgr.AddReadyzCheck("webhook-server", server.StartedChecker()),
	)
}

// rules wraps a pure validation.
func rules[T client.Object](validate func(old, obj T) field.ErrorList) webhookserver.Rules[T] {
	return func(_ context.Context, old, obj T) (field.ErrorList, error) { return validate(old, obj), nil }
}

// defaultOptions fill templates only where they changed, and not at all with TemplateNoDefaults.
func defaultOptions(templateChanged bool) appsv1beta1.DefaultOptions {
	return appsv1beta1.DefaultOptions{
		Templates:   templateChanged && !features.Enabled(features.TemplateNoDefaults),
		PodTemplate: podtemplate.Options{HostPorts: features.Enabled(features.DefaultHostNetworkHostPortsInPodTemplates)},
	}
}
