// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-configmapset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=configmapsets,verbs=create;update,versions=v1alpha1,name=mconfigmapset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-sidecarset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=sidecarsets,verbs=create;update,versions=v1beta1,name=msidecarset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-sidecarset,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=sidecarsets,verbs=create;update,versions=v1alpha1,name=msidecarset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-configmapset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=configmapsets,verbs=create;update,versions=v1alpha1,name=vconfigmapset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-sidecarset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=sidecarsets,verbs=create;update,versions=v1beta1,name=vsidecarset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-sidecarset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=sidecarsets,verbs=create;update,versions=v1alpha1,name=vsidecarset-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

func sidecarWebhooks(scheme *runtime.Scheme, f Facts) map[string]*admission.Webhook {
	return map[string]*admission.Webhook{
		"/mutate-apps-kruise-io-v1alpha1-configmapset": webhookserver.Defaulting(scheme, func(_, obj *appsv1alpha1.ConfigMapSet) {
			appsv1alpha1.DefaultConfigMapSet(obj, appsv1alpha1.ReloadSidecarConfigMapRef{
				Namespace: appsv1alpha1.DefaultReloadConfigMapNamespace, Name: appsv1alpha1.DefaultReloadConfigMapName,
			})
		}),
		"/mutate-apps-kruise-io-sidecarset": webhookserver.Completing(scheme, func(_ context.Context, old, obj *appsv1beta1.SidecarSet) error {
			changed := old == nil || appsv1beta1.TemplatesChanged(templatesOf(&old.Spec), templatesOf(&obj.Spec))
			appsv1beta1.DefaultSidecarSet(obj, defaultOptions(changed))
			return hashSidecars(obj, obj.Spec.InitContainers, obj.Spec.Containers)
		}),
		"/mutate-apps-kruise-io-v1alpha1-sidecarset": webhookserver.Completing(scheme, func(_ context.Context, old, obj *appsv1alpha1.SidecarSet) error {
			changed := old == nil || appsv1beta1.TemplatesChanged(oldTemplatesOf(&old.Spec), oldTemplatesOf(&obj.Spec))
			appsv1alpha1.DefaultSidecarSet(obj, defaultOptions(changed))
			return hashSidecars(obj, obj.Spec.InitContainers, obj.Spec.Containers)
		}),
		"/validate-apps-kruise-io-v1alpha1-configmapset": webhookserver.Validating(scheme, f.configMapSet),
		"/validate-apps-kruise-io-sidecarset": webhookserver.Validating(scheme, warned(validation.UnsupportedInSidecarSet, with(
			func(ctx context.Context, obj *appsv1beta1.SidecarSet) (*validation.SidecarSetFacts, error) {
				return f.sidecarSet(ctx, obj.Name, &obj.Spec.InjectionStrategy, obj.Spec.PatchPodMetadata)
			}, validation.ValidateSidecarSet))),
		"/validate-apps-kruise-io-v1alpha1-sidecarset": webhookserver.Validating(scheme, warned(validation.UnsupportedInOldSidecarSet, with(
			func(ctx context.Context, obj *appsv1alpha1.SidecarSet) (*validation.SidecarSetFacts, error) {
				return f.sidecarSet(ctx, obj.Name, &obj.Spec.InjectionStrategy, obj.Spec.PatchPodMetadata)
			}, validation.ValidateOldSidecarSet))),
	}
}

// sidecarTemplates are what Kubernetes' defaults are filled in, of a SidecarSet.
type sidecarTemplates struct {
	InitContainers, Containers []appsv1beta1.SidecarContainer
	Volumes                    []corev1.Volume
}

func templatesOf(spec *appsv1beta1.SidecarSetSpec) *sidecarTemplates {
	return &sidecarTemplates{spec.InitContainers, spec.Containers, spec.Volumes}
}

func oldTemplatesOf(spec *appsv1alpha1.SidecarSetSpec) *sidecarTemplates {
	return &sidecarTemplates{spec.InitContainers, spec.Containers, spec.Volumes}
}

// hashSidecars writes what tells pods with these containers from others.
func hashSidecars(obj client.Object, initContainers, containers []appsv1beta1.SidecarContainer) error {
	hash, withoutImage, err := appsv1beta1.SidecarSetHashes(initContainers, containers)
	if err != nil {
		return err
	}
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appsv1beta1.SidecarSetHashAnnotation] = hash
	annotations[appsv1beta1.SidecarSetHashWithoutImageAnnotation] = withoutImage
	obj.SetAnnotations(annotations)
	return nil
}
