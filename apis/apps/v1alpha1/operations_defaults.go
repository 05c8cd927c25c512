// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// DefaultSidecarSet is v1beta1.DefaultSidecarSet for an object sent as v1alpha1.
func DefaultSidecarSet(obj *SidecarSet, opts v1beta1.DefaultOptions) {
	spec := &obj.Spec
	filled := v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{
		InitContainers: spec.InitContainers, Containers: spec.Containers, Volumes: spec.Volumes, PatchPodMetadata: spec.PatchPodMetadata,
		InjectionStrategy: spec.InjectionStrategy, UpdateStrategy: spec.UpdateStrategy, RevisionHistoryLimit: spec.RevisionHistoryLimit,
	}}
	v1beta1.DefaultSidecarSet(&filled, opts) // lists are filled where they are
	spec.UpdateStrategy = filled.Spec.UpdateStrategy
	spec.RevisionHistoryLimit = filled.Spec.RevisionHistoryLimit
}

// DefaultImagePullJob is v1beta1.DefaultImagePullJob for an object sent as v1alpha1.
func DefaultImagePullJob(obj *ImagePullJob) { v1beta1.DefaultImagePullJobSpec(&obj.Spec) }

// DefaultNewImagePullJob is DefaultImagePullJob for an object that is being created: it also gets the finalizer,
// which in v1beta1 is left to the controller.
func DefaultNewImagePullJob(obj *ImagePullJob) {
	DefaultImagePullJob(obj)
	if !slices.Contains(obj.Finalizers, v1beta1.ImagePullJobFinalizer) {
		obj.Finalizers = append(obj.Finalizers, v1beta1.ImagePullJobFinalizer)
	}
}

// DefaultImageListPullJob is v1beta1.DefaultImageListPullJob for an object sent as v1alpha1.
func DefaultImageListPullJob(obj *ImageListPullJob) { v1beta1.DefaultImageListPullJobSpec(&obj.Spec) }

// DefaultNodeImage is v1beta1.DefaultNodeImage for an object sent as v1alpha1.
func DefaultNodeImage(obj *NodeImage, now metav1.Time) {
	for _, image := range obj.Spec.Images {
		v1beta1.DefaultImageTags(image.Tags, now)
	}
}

// DefaultContainerRecreateRequest is v1beta1.DefaultContainerRecreateRequest for an object sent as v1alpha1.
func DefaultContainerRecreateRequest(obj *ContainerRecreateRequest) {
	point(&obj.Spec.Strategy, ContainerRecreateRequestStrategy{})
	if obj.Spec.Strategy.FailurePolicy == "" {
		obj.Spec.Strategy.FailurePolicy = ContainerRecreateRequestFailurePolicyFail
	}
}

// CompleteContainerRecreateRequest is v1beta1.CompleteContainerRecreateRequest for an object sent as v1alpha1.
func CompleteContainerRecreateRequest(obj *ContainerRecreateRequest, pod *corev1.Pod, nodeLabels map[string]string) {
	DefaultContainerRecreateRequest(obj)
	filled := v1beta1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{Labels: obj.Labels}}
	filled.Spec.Containers = obj.Spec.Containers // filled where they are
	v1beta1.CompleteContainerRecreateRequest(&filled, pod, nodeLabels)
	obj.Labels = filled.Labels
	if grace := filled.Spec.Strategy.TerminationGracePeriodSeconds; grace != nil {
		point(&obj.Spec.Strategy.TerminationGracePeriodSeconds, *grace)
	}
}
