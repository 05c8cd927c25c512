// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
)

// Classify says which operation an update of a pod is: RESIZE where only cpu and memory of containers change and none
// has to restart for it, UPDATE where its spec changes otherwise or it is newly marked unavailable, and empty where no
// budget has to be asked.
func Classify(old, updated *corev1.Pod) policyv1beta1.PubOperation {
	marked := !IsMarked(old) && IsMarked(updated)
	switch {
	case !marked && equality.Semantic.DeepEqual(&old.Spec, &updated.Spec):
		return ""
	case !marked && isResize(old, updated):
		return policyv1beta1.PubResizeOperation
	default:
		return policyv1beta1.PubUpdateOperation
	}
}

func isResize(old, updated *corev1.Pod) bool {
	if isStatic(old) || isStatic(updated) || inplace.QoSOf(&old.Spec) != inplace.QoSOf(&updated.Spec) {
		return false
	}
	if !equality.Semantic.DeepEqual(withoutResources(&old.Spec), withoutResources(&updated.Spec)) {
		return false
	}
	for i := range updated.Spec.Containers {
		if !resizesInPlace(&old.Spec.Containers[i], &updated.Spec.Containers[i]) {
			return false
		}
	}
	return true
}

// withoutResources is the spec with the resources of its containers left out.
func withoutResources(spec *corev1.PodSpec) *corev1.PodSpec {
	out := *spec
	out.Containers = make([]corev1.Container, len(spec.Containers))
	for i := range spec.Containers {
		out.Containers[i] = spec.Containers[i]
		out.Containers[i].Resources = corev1.ResourceRequirements{}
	}
	return &out
}

// resizesInPlace says whether every resource that changes is one that the container takes without a restart.
func resizesInPlace(old, updated *corev1.Container) bool {
	if !equality.Semantic.DeepEqual(old.Resources.Claims, updated.Resources.Claims) {
		return false
	}
	for _, lists := range [][2]corev1.ResourceList{
		{old.Resources.Requests, updated.Resources.Requests}, {old.Resources.Limits, updated.Resources.Limits},
	} {
		for name := range changed(lists[0], lists[1]) {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory || restartsFor(updated, name) {
				return false
			}
		}
	}
	return true
}

// changed are the resources whose amounts differ; one that comes or goes is among them.
func changed(a, b corev1.ResourceList) map[corev1.ResourceName]bool {
	out := map[corev1.ResourceName]bool{}
	for _, list := range []corev1.ResourceList{a, b} {
		for name := range list {
			before, had := a[name]
			after, has := b[name]
			if had != has || before.Cmp(after) != 0 {
				out[name] = true
			}
		}
	}
	return out
}

func restartsFor(c *corev1.Container, name corev1.ResourceName) bool {
	for _, policy := range c.ResizePolicy {
		if policy.ResourceName == name {
			return policy.RestartPolicy != "" && policy.RestartPolicy != corev1.NotRequired
		}
	}
	return false
}

// isStatic says whether a kubelet made the pod from a file.
func isStatic(pod *corev1.Pod) bool {
	source, found := pod.Annotations["kubernetes.io/config.source"]
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || found && source != "api"
}
