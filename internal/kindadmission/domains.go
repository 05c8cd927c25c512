// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// +kubebuilder:webhook:path=/validate-policy-kruise-io-podunavailablebudget,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=policy.kruise.io,resources=podunavailablebudgets,verbs=create;update,versions=v1beta1,name=vpodunavailablebudget.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-resourcedistribution,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=resourcedistributions,verbs=create;update,versions=v1beta1,name=vresourcedistribution.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-resourcedistribution,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=resourcedistributions,verbs=create;update,versions=v1alpha1,name=vresourcedistribution-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-workloadspread,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=workloadspreads,verbs=create;update,versions=v1beta1,name=vworkloadspread.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-workloadspread,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=workloadspreads,verbs=create;update,versions=v1alpha1,name=vworkloadspread-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

func domainWebhooks(scheme *runtime.Scheme, f Facts) map[string]*admission.Webhook {
	return map[string]*admission.Webhook{
		"/validate-policy-kruise-io-podunavailablebudget": webhookserver.Validating(scheme, f.budgetRules()),
		"/validate-apps-kruise-io-resourcedistribution": webhookserver.Validating(scheme, tried(f,
			func(obj *appsv1beta1.ResourceDistribution) runtime.RawExtension { return obj.Spec.Resource }, rules(validation.ValidateResourceDistribution))),
		"/validate-apps-kruise-io-v1alpha1-resourcedistribution": webhookserver.Validating(scheme, tried(f,
			func(obj *appsv1alpha1.ResourceDistribution) runtime.RawExtension { return obj.Spec.Resource }, rules(validation.ValidateOldResourceDistribution))),
		"/validate-apps-kruise-io-workloadspread": webhookserver.Validating(scheme, with(
			func(ctx context.Context, obj *appsv1beta1.WorkloadSpread) (validation.WorkloadSpreadContext, error) {
				return f.workloadSpread(ctx, obj.Namespace, obj.Spec.TargetReference)
			}, validation.ValidateWorkloadSpread)),
		"/validate-apps-kruise-io-v1alpha1-workloadspread": webhookserver.Validating(scheme, with(
			func(ctx context.Context, obj *appsv1alpha1.WorkloadSpread) (validation.WorkloadSpreadContext, error) {
				return f.workloadSpread(ctx, obj.Namespace, obj.Spec.TargetReference)
			}, validation.ValidateOldWorkloadSpread)),
	}
}
