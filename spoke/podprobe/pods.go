// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Probed says whether a pod has come as far as to be probed: it is active, on a node, and its init containers are done.
func Probed(pod *corev1.Pod) bool {
	initialized := pods.Condition(pod, corev1.PodInitialized)
	return pods.IsActive(pod) && pod.Spec.NodeName != "" && initialized != nil && initialized.Status == corev1.ConditionTrue
}

// HasContainer says whether the pod has a container, or a sidecar, of that name: what runs beside the others.
func HasContainer(pod *corev1.Pod, name string) bool { return Container(pod, name) != nil }

// Container returns the pod's container, or sidecar, of that name; nil when there is none. The result points into the
// pod.
func Container(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			return c
		}
	}
	return nil
}

// Serverless says whether a node is a virtual kubelet, which has no node agent.
func Serverless(node *corev1.Node) bool { return node.Labels["type"] == "virtual-kubelet" }

// Marker is a PodProbeMarker with its selector ready for use.
type Marker struct {
	*v1alpha1.PodProbeMarker
	selector labels.Selector
}

// Markers returns those that are in force, in order of their names. One that is being deleted is not; neither is one
// without a selector that selects by something, which admission refuses.
func Markers(list []v1alpha1.PodProbeMarker) []Marker {
	out := make([]Marker, 0, len(list))
	for i := range list {
		if m := MarkerOf(&list[i]); m.DeletionTimestamp == nil && !m.selector.Empty() {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Marker) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// MarkerOf makes a Marker. A selector that cannot be read, or that selects everything, selects nothing.
func MarkerOf(obj *v1alpha1.PodProbeMarker) Marker {
	selector, err := metav1.LabelSelectorAsSelector(obj.Spec.Selector)
	if err != nil || selector.Empty() {
		selector = labels.Nothing()
	}
	return Marker{obj, selector}
}

// Selects says whether a pod of these labels, in the marker's namespace, is meant.
func (m Marker) Selects(set map[string]string) bool { return m.selector.Matches(labels.Set(set)) }

// Selector is the marker's selector.
func (m Marker) Selector() labels.Selector { return m.selector }

// Probe returns the marker's probe of that name, nil when there is none.
func (m Marker) Probe(name string) *v1alpha1.PodContainerProbe {
	for i := range m.Spec.Probes {
		if m.Spec.Probes[i].Name == name {
			return &m.Spec.Probes[i]
		}
	}
	return nil
}
