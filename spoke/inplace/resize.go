// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resizable are the resources that a running container can be given more or less of.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// resourceChange reads a difference as another value of a resource that the old template's container has already:
// resources.<limits or requests>.<name>.
func resourceChange(d difference, old *corev1.PodTemplateSpec) (container string, change corev1.ResourceRequirements, ok bool) {
	c, path := containerOf(d, old)
	if c == nil || len(path) != 3 || path[0] != "resources" {
		return "", change, false
	}
	name := corev1.ResourceName(path[2])
	quantity, err := resource.ParseQuantity(fmt.Sprint(d.value))
	if err != nil || !slices.Contains(resizable, name) {
		return "", change, false
	}
	values := corev1.ResourceList{name: quantity}
	if path[1] == "limits" {
		change.Limits = values
	} else {
		change.Requests = values
	}
	return c.Name, change, path[1] == "limits" || path[1] == "requests"
}

// addResources notes a change of a container's resources beside those noted before.
func addResources(spec *Spec, container string, change corev1.ResourceRequirements) {
	all := spec.ContainerResources[container]
	all.Limits = joined(all.Limits, change.Limits)
	all.Requests = joined(all.Requests, change.Requests)
	put(&spec.ContainerResources, container, all)
}

// cannotResize says what keeps the resources of a pod's containers from being changed; empty when nothing does.
func cannotResize(from, to *corev1.PodTemplateSpec) string {
	if from.Spec.Resources != nil || to.Spec.Resources != nil {
		return "the template has resources for the pod as a whole"
	}
	if a, b := QoSOf(&from.Spec), QoSOf(&to.Spec); a != b {
		return fmt.Sprintf("the pod's quality of service would change from %s to %s", a, b)
	}
	return ""
}

// addRequests lets requests follow limits where the template has only limits: the API server has put the old ones
// into the pod.
func addRequests(spec *Spec, from *corev1.PodTemplateSpec) {
	for i := range from.Spec.Containers {
		c := &from.Spec.Containers[i]
		for name, limit := range spec.ContainerResources[c.Name].Limits {
			if _, asked := c.Resources.Requests[name]; !asked {
				addResources(spec, c.Name, corev1.ResourceRequirements{Requests: corev1.ResourceList{name: limit}})
			}
		}
	}
}

func joined(a, b corev1.ResourceList) corev1.ResourceList {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// missingResources are the wanted values that the pod does not have yet, by container.
func missingResources(pod *corev1.Pod, wanted map[string]corev1.ResourceRequirements) map[string]corev1.ResourceRequirements {
	var out map[string]corev1.ResourceRequirements
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		want, ok := wanted[c.Name]
		if !ok {
			continue
		}
		missing := corev1.ResourceRequirements{
			Limits: otherValues(c.Resources.Limits, want.Limits), Requests: otherValues(c.Resources.Requests, want.Requests),
		}
		if len(missing.Limits)+len(missing.Requests) > 0 {
			put(&out, c.Name, missing)
		}
	}
	return out
}

func otherValues(have, want corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for name, quantity := range want {
		if had, ok := have[name]; ok && had.Cmp(quantity) == 0 {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = quantity
	}
	return out
}

// interrupts says whether a change takes the pod out of service: always, unless nothing but resources change and
// no container must be restarted for them.
func interrupts(pod *corev1.Pod, spec *Spec) bool {
	if len(spec.ContainerResources) == 0 || len(spec.ContainerImages)+len(spec.ContainerRefMetadata) > 0 {
		return true
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		change := spec.ContainerResources[c.Name]
		for _, policy := range c.ResizePolicy {
			_, limit := change.Limits[policy.ResourceName]
			_, request := change.Requests[policy.ResourceName]
			if (limit || request) && policy.RestartPolicy == corev1.RestartContainer {
				return true
			}
		}
	}
	return false
}

// resized says whether the node has given every container the resources of the pod's spec; why names one that lags
// behind.
func resized(pod *corev1.Pod) (done bool, why string) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := statusOf(pod, c.Name)
		if status != nil && status.Resources != nil && sameValues(c.Resources.Limits, status.Resources.Limits) &&
			sameValues(c.Resources.Requests, status.Resources.Requests) {
			continue
		}
		return false, "container " + c.Name + " does not have its new resources yet" + refusal(pod)
	}
	return true, ""
}

func sameValues(want, got corev1.ResourceList) bool {
	for _, name := range resizable {
		a, b := want[name], got[name]
		if a.Cmp(b) != 0 {
			return false
		}
	}
	return true
}

// refusal is what the kubelet says of a resize that it does not make now.
func refusal(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf(": %s: %s", c.Reason, c.Message)
		}
	}
	return ""
}
