// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	rolloutsv1alpha1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// What a Rollout says nothing of is filled by its schema.
//
// +kubebuilder:webhook:path=/validate-rollouts-kruise-io-batchrelease,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=rollouts.kruise.io,resources=batchreleases,verbs=create;update,versions=v1beta1,name=vbatchrelease.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-rollouts-kruise-io-v1alpha1-batchrelease,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=rollouts.kruise.io,resources=batchreleases,verbs=create;update,versions=v1alpha1,name=vbatchrelease-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-rollouts-kruise-io-rollout,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=rollouts.kruise.io,resources=rollouts,verbs=create;update,versions=v1beta1,name=vrollout.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-rollouts-kruise-io-v1alpha1-rollout,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=rollouts.kruise.io,resources=rollouts,verbs=create;update,versions=v1alpha1,name=vrollout-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-rollouts-kruise-io-trafficrouting,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=rollouts.kruise.io,resources=trafficroutings,verbs=create;update,versions=v1alpha1,name=vtrafficrouting.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

func rolloutWebhooks(scheme *runtime.Scheme, f Facts) map[string]*admission.Webhook {
	return map[string]*admission.Webhook{
		"/validate-rollouts-kruise-io-batchrelease":          webhookserver.Validating(scheme, warned(validation.UnsupportedInBatchRelease, rules(validation.ValidateBatchRelease))),
		"/validate-rollouts-kruise-io-v1alpha1-batchrelease": webhookserver.Validating(scheme, rules(validation.ValidateOldBatchRelease)),
		"/validate-rollouts-kruise-io-rollout": webhookserver.Validating(scheme, with(
			func(ctx context.Context, obj *rolloutsv1beta1.Rollout) (validation.RolloutFacts, error) {
				return f.rollout(ctx, obj.Namespace)
			}, validation.ValidateRollout)),
		"/validate-rollouts-kruise-io-v1alpha1-rollout": webhookserver.Validating(scheme, with(
			func(ctx context.Context, obj *rolloutsv1alpha1.Rollout) (validation.RolloutFacts, error) {
				return f.rollout(ctx, obj.Namespace)
			}, validation.ValidateOldRollout)),
		"/validate-rollouts-kruise-io-trafficrouting": webhookserver.Validating(scheme, rules(validation.ValidateTrafficRouting)),
	}
}
