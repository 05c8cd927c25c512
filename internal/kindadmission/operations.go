// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// A new ContainerRecreateRequest is checked against its pod before it is completed from it, which is why the
// webhook that completes it refuses as well.
//
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-containerrecreaterequest,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=containerrecreaterequests,verbs=create;update,versions=v1beta1,name=mcontainerrecreaterequest.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-containerrecreaterequest,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=containerrecreaterequests,verbs=create;update,versions=v1alpha1,name=mcontainerrecreaterequest-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-imagelistpulljob,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagelistpulljobs,verbs=create;update,versions=v1beta1,name=mimagelistpulljob-v1beta1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-imagelistpulljob,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagelistpulljobs,verbs=create;update,versions=v1alpha1,name=mimagelistpulljob-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-imagepulljob,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagepulljobs,verbs=create;update,versions=v1beta1,name=mimagepulljob-v1beta1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-imagepulljob,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagepulljobs,verbs=create;update,versions=v1alpha1,name=mimagepulljob-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-nodeimage,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=nodeimages,verbs=create;update,versions=v1beta1,name=mnodeimage.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/mutate-apps-kruise-io-v1alpha1-nodeimage,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=nodeimages,verbs=create;update,versions=v1alpha1,name=mnodeimage-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-containerrecreaterequest,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=containerrecreaterequests,verbs=create;update,versions=v1beta1,name=vcontainerrecreaterequest.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-containerrecreaterequest,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=containerrecreaterequests,verbs=create;update,versions=v1alpha1,name=vcontainerrecreaterequest-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-ephemeraljob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=ephemeraljobs,verbs=create;update,versions=v1alpha1,name=vephemeraljobs.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-imagelistpulljob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagelistpulljobs,verbs=create;update,versions=v1beta1,name=vimagelistpulljob-v1beta1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-imagelistpulljob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagelistpulljobs,verbs=create;update,versions=v1alpha1,name=vimagelistpulljob-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-imagepulljob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagepulljobs,verbs=create;update,versions=v1beta1,name=vimagepulljob-v1beta1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-imagepulljob,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=imagepulljobs,verbs=create;update,versions=v1alpha1,name=vimagepulljob-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-nodeimage,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=nodeimages,verbs=create;update,versions=v1beta1,name=vnodeimage.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-v1alpha1-nodeimage,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=nodeimages,verbs=create;update,versions=v1alpha1,name=vnodeimage-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-persistentpodstate,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=persistentpodstates,verbs=create;update,versions=v1beta1,name=vpersistentpodstate.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-apps-kruise-io-podprobemarker,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps.kruise.io,resources=podprobemarkers,verbs=create;update,versions=v1alpha1,name=vpodprobemarker.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

func operationWebhooks(scheme *runtime.Scheme, f Facts) map[string]*admission.Webhook {
	return map[string]*admission.Webhook{
		"/mutate-apps-kruise-io-containerrecreaterequest":          webhookserver.Completing(scheme, f.completeRequest),
		"/mutate-apps-kruise-io-v1alpha1-containerrecreaterequest": webhookserver.Completing(scheme, f.completeOldRequest),
		"/mutate-apps-kruise-io-imagelistpulljob": webhookserver.Defaulting(scheme, func(_, obj *appsv1beta1.ImageListPullJob) {
			appsv1beta1.DefaultImageListPullJob(obj)
		}),
		"/mutate-apps-kruise-io-v1alpha1-imagelistpulljob": webhookserver.Defaulting(scheme, func(_, obj *appsv1alpha1.ImageListPullJob) {
			appsv1alpha1.DefaultImageListPullJob(obj)
		}),
		"/mutate-apps-kruise-io-imagepulljob": webhookserver.Defaulting(scheme, func(_, obj *appsv1beta1.ImagePullJob) {
			appsv1beta1.DefaultImagePullJob(obj)
		}),
		"/mutate-apps-kruise-io-v1alpha1-imagepulljob": webhookserver.Defaulting(scheme, func(_, obj *appsv1alpha1.ImagePullJob) {
			appsv1alpha1.DefaultImagePullJob(obj)
		}),
		"/mutate-apps-kruise-io-nodeimage": webhookserver.Defaulting(scheme, func(_, obj *appsv1beta1.NodeImage) {
			appsv1beta1.DefaultNodeImage(obj, metav1.NewTime(f.Clock.Now()))
		}),
		"/mutate-apps-kruise-io-v1alpha1-nodeimage": webhookserver.Defaulting(scheme, func(_, obj *appsv1alpha1.NodeImage) {
			appsv1alpha1.DefaultNodeImage(obj, metav1.NewTime(f.Clock.Now()))
		}),
		"/validate-apps-kruise-io-containerrecreaterequest":          webhookserver.Validating(scheme, rules(validation.ValidateContainerRecreateRequest)),
		"/validate-apps-kruise-io-v1alpha1-containerrecreaterequest": webhookserver.Validating(scheme, rules(validation.ValidateOldContainerRecreateRequest)),
		"/validate-apps-kruise-io-v1alpha1-ephemeraljob":             webhookserver.Validating(scheme, rules(validation.ValidateEphemeralJob)),
		"/validate-apps-kruise-io-imagelistpulljob":                  webhookserver.Validating(scheme, rules(validation.ValidateImageListPullJob)),
		"/validate-apps-kruise-io-v1alpha1-imagelistpulljob":         webhookserver.Validating(scheme, rules(validation.ValidateOldImageListPullJob)),
		"/validate-apps-kruise-io-imagepulljob":                      webhookserver.Validating(scheme, rules(validation.ValidateImagePullJob)),
		"/validate-apps-kruise-io-v1alpha1-imagepulljob":             webhookserver.Validating(scheme, rules(validation.ValidateOldImagePullJob)),
		"/validate-apps-kruise-io-nodeimage":                         webhookserver.Validating(scheme, rules(validation.ValidateNodeImage)),
		"/validate-apps-kruise-io-v1alpha1-nodeimage":                webhookserver.Validating(scheme, rules(validation.ValidateOldNodeImage)),
		"/validate-apps-kruise-io-persistentpodstate":                webhookserver.Validating(scheme, with(f.persistentPodState, validation.ValidatePersistentPodState)),
		"/validate-apps-kruise-io-podprobemarker":                    webhookserver.Validating(scheme, rules(validation.ValidatePodProbeMarker)),
	}
}
