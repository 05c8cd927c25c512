// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultPullTimeoutSeconds is the default of pullPolicy.timeoutSeconds.
	DefaultPullTimeoutSeconds int32 = 600
	// DefaultPullBackoffLimit is the default of pullPolicy.backoffLimit.
	DefaultPullBackoffLimit int32 = 3
)

// DefaultImagePullJob fills the fields of an ImagePullJob that say nothing. Parallelism stays unset, which
// means 1.
func DefaultImagePullJob(obj *ImagePullJob) { DefaultImagePullJobSpec(&obj.Spec) }

// DefaultImagePullJobSpec is DefaultImagePullJob for the spec, which all versions share.
func DefaultImagePullJobSpec(spec *ImagePullJobSpec) {
	defaultPullTemplate(&spec.ImagePullJobTemplate)
	fillEmpty(&spec.ImagePullPolicy, PullIfNotPresent)
}

// DefaultImageListPullJob fills the fields of an ImageListPullJob that say nothing. imagePullPolicy is filled
// in the jobs that are made of it.
func DefaultImageListPullJob(obj *ImageListPullJob) { DefaultImageListPullJobSpec(&obj.Spec) }

// DefaultImageListPullJobSpec is DefaultImageListPullJob for the spec, which all versions share.
func DefaultImageListPullJobSpec(spec *ImageListPullJobSpec) {
	defaultPullTemplate(&spec.ImagePullJobTemplate)
}

func defaultPullTemplate(template *ImagePullJobTemplate) {
	fillEmpty(&template.CompletionPolicy.Type, CompletionPolicyAlways)
	point(&template.PullPolicy, PullPolicy{})
	point(&template.PullPolicy.TimeoutSeconds, DefaultPullTimeoutSeconds)
	point(&template.PullPolicy.BackoffLimit, DefaultPullBackoffLimit)
}

// DefaultNodeImage fills the fields of a NodeImage that say nothing, and sorts tags. Tags without a time were
// asked for now.
func DefaultNodeImage(obj *NodeImage, now metav1.Time) {
	for _, image := range obj.Spec.Images {
		DefaultImageTags(image.Tags, now)
	}
}

// DefaultImageTags is DefaultNodeImage for the tags of one image, which all versions share.
func DefaultImageTags(tags []ImageTagSpec, now metav1.Time) {
	for i := range tags {
		point(&tags[i].CreatedAt, now)
		point(&tags[i].PullPolicy, ImageTagPullPolicy{})
		point(&tags[i].PullPolicy.TimeoutSeconds, DefaultPullTimeoutSeconds)
		point(&tags[i].PullPolicy.BackoffLimit, DefaultPullBackoffLimit)
	}
	slices.SortStableFunc(tags, func(a, b ImageTagSpec) int { return cmp.Compare(a.Tag, b.Tag) })
}

// DefaultContainerRecreateRequest fills the fields of a request that say nothing and need no pod.
func DefaultContainerRecreateRequest(obj *ContainerRecreateRequest) {
	point(&obj.Spec.Strategy, ContainerRecreateRequestStrategy{})
	fillEmpty(&obj.Spec.Strategy.FailurePolicy, ContainerRecreateRequestFailurePolicyFail)
}

// CompleteContainerRecreateRequest fills a new request with what its pod and the labels of the pod's node say:
// the labels by which agents find it, the grace period, and of each container the preStop hook and the instance
// to restart. Containers the pod does not have stay as they are; validation names them.
func CompleteContainerRecreateRequest(obj *ContainerRecreateRequest, pod *corev1.Pod, nodeLabels map[string]string) {
	DefaultContainerRecreateRequest(obj)
	labels := map[string]string{}
	maps.Copy(labels, obj.Labels)
	labels[ContainerRecreateRequestActiveKey] = "true"
	labels[ContainerRecreateRequestPodUIDKey] = string(pod.UID)
	labels[ContainerRecreateRequestNodeNameKey] = pod.Spec.NodeName
	if nodeLabels[NodeTypeLabel] == VirtualKubeletNodeType {
		labels[NodeTypeLabel] = VirtualKubeletNodeType
	}
	obj.Labels = labels
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		point(&obj.Spec.Strategy.TerminationGracePeriodSeconds, *grace)
	}
	for i := range obj.Spec.Containers {
		completeRequestContainer(&obj.Spec.Containers[i], pod)
	}
}

func completeRequestContainer(container *ContainerRecreateRequestContainer, pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		if spec.Name != container.Name || spec.Lifecycle == nil || spec.Lifecycle.PreStop == nil {
			continue
		}
		hook := spec.Lifecycle.PreStop.DeepCopy()
		container.PreStop = &ProbeHandler{Exec: hook.Exec, HTTPGet: hook.HTTPGet, TCPSocket: hook.TCPSocket}
		if hook.HTTPGet != nil {
			container.Ports = slices.Clone(spec.Ports)
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == container.Name {
			container.StatusContext = &ContainerRecreateRequestContainerContext{ContainerID: status.ContainerID, RestartCount: status.RestartCount}
		}
	}
}
