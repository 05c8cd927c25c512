// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// leastDeadlineSeconds is the least activeDeadlineSeconds of a ContainerRecreateRequest.
const leastDeadlineSeconds = 3

// ValidateContainerRecreateRequest says what is wrong with a request for itself. A nil old means that it is
// new; ValidateContainerRecreateRequestPod then says the rest. On an update only what must not change counts.
func ValidateContainerRecreateRequest(old, obj *v1beta1.ContainerRecreateRequest) field.ErrorList {
	if old != nil {
		return containerRecreateRequestUpdate(old, obj).list
	}
	p := &problems{}
	spec, path := &obj.Spec, field.NewPath("spec")
	if spec.PodName == "" {
		p.required(path.Child("podName"), "podName can not be empty")
	}
	if len(spec.Containers) == 0 {
		p.required(path.Child("containers"), "containers list can not be null")
	}
	if seconds := spec.ActiveDeadlineSeconds; seconds != nil && *seconds < leastDeadlineSeconds {
		p.invalid(path.Child("activeDeadlineSeconds"), *seconds, "activeDeadlineSeconds can not be less than 3s")
	}
	if spec.Strategy != nil {
		p.recreateStrategy(path.Child("strategy"), spec.Strategy)
	}
	return p.list
}

func (p *problems) recreateStrategy(path *field.Path, strategy *v1beta1.ContainerRecreateRequestStrategy) {
	for _, f := range []named[*int64]{
		{"terminationGracePeriodSeconds", strategy.TerminationGracePeriodSeconds},
		{"unreadyGracePeriodSeconds", strategy.UnreadyGracePeriodSeconds},
	} {
		if f.value != nil && *f.value < 0 {
			p.invalid(path.Child(f.name), *f.value, f.name+" must be non-negative integer")
		}
	}
	switch strategy.FailurePolicy {
	case "", v1beta1.ContainerRecreateRequestFailurePolicyFail, v1beta1.ContainerRecreateRequestFailurePolicyIgnore:
	default:
		p.invalid(path.Child("failurePolicy"), strategy.FailurePolicy, "unknown failurePolicy "+string(strategy.FailurePolicy)+": use Fail or Ignore")
	}
}

func containerRecreateRequestUpdate(old, obj *v1beta1.ContainerRecreateRequest) *problems {
	p := &problems{}
	if !equality.Semantic.DeepEqual(old.Spec, obj.Spec) {
		p.forbidden(field.NewPath("spec"), "spec of ContainerRecreateRequest is immutable: make another request")
	}
	for _, key := range []string{v1beta1.ContainerRecreateRequestPodUIDKey, v1beta1.ContainerRecreateRequestNodeNameKey} {
		if old.Labels[key] != obj.Labels[key] {
			p.forbidden(field.NewPath("metadata", "labels").Key(key), "not allowed to update immutable label "+key)
		}
	}
	return p
}

// ValidateOldContainerRecreateRequest is ValidateContainerRecreateRequest for an object sent as v1alpha1, where
// an annotation says since when the pod is not ready: that may not change either.
func ValidateOldContainerRecreateRequest(old, obj *v1alpha1.ContainerRecreateRequest) field.ErrorList {
	const key = v1beta1.ContainerRecreateRequestUnreadyAcquiredKey
	list := converted(old, obj, v1alpha1.Convert_v1alpha1_ContainerRecreateRequest_To_v1beta1_ContainerRecreateRequest, ValidateContainerRecreateRequest)
	if old != nil && old.Annotations[key] != "" && old.Annotations[key] != obj.Annotations[key] {
		list = append(list, field.Forbidden(annotationPath(key), "not allowed to update immutable annotation "+key))
	}
	return list
}

// ValidateContainerRecreateRequestPod says what keeps a new request, as it was sent, from being carried out in
// its pod; a nil pod means that there is none.
func ValidateContainerRecreateRequestPod(obj *v1beta1.ContainerRecreateRequest, pod *corev1.Pod) field.ErrorList {
	p := &problems{}
	at := field.NewPath("spec", "podName")
	switch {
	case pod == nil:
		p.invalid(at, obj.Spec.PodName, "no found Pod named "+obj.Spec.PodName)
		return p.list
	case !isActive(pod) && !isTerminatedEarly(pod):
		p.invalid(at, obj.Spec.PodName, "not allowed to recreate containers in an inactive Pod")
		return p.list
	case pod.Spec.NodeName == "":
		p.invalid(at, obj.Spec.PodName, "not allowed to recreate containers in a pending Pod")
		return p.list
	}
	seen := map[string]bool{}
	for i := range obj.Spec.Containers {
		container := &obj.Spec.Containers[i]
		path := field.NewPath("spec", "containers").Index(i)
		if seen[container.Name] {
			p.invalid(path.Child("name"), container.Name, "can not recreate "+container.Name+" multi times")
			continue
		}
		seen[container.Name] = true
		p.recreated(path, container, pod)
	}
	return p.list
}

func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// isTerminatedEarly says whether the sidecar terminator declared the pod finished: sidecars may still run in it.
func isTerminatedEarly(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == v1beta1.SidecarTerminatedCondition {
			return true
		}
	}
	return false
}

func (p *problems) recreated(path *field.Path, container *v1beta1.ContainerRecreateRequestContainer, pod *corev1.Pod) {
	if container.PreStop != nil || len(container.Ports) > 0 || container.StatusContext != nil {
		p.forbidden(path, "preStop, ports, statusContext in container are ready-only fields: take them out")
		return
	}
	at := path.Child("name")
	if !inPod(&pod.Spec, container.Name) {
		p.invalid(at, container.Name, "container "+container.Name+" not found in Pod")
		return
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name != container.Name {
			continue
		}
		if status.ContainerID == "" {
			p.invalid(at, container.Name, "no containerID in "+container.Name+" containerStatus, maybe the container has not been initialized")
		}
		return
	}
	p.invalid(at, container.Name, "not found "+container.Name+" containerStatus in Pod Status")
}

func inPod(spec *corev1.PodSpec, name string) bool {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return true
			}
		}
	}
	return false
}
