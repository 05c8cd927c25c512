// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/internal/pods"
)

const (
	// pace is the chance that a pod makes its next step in one step of the world.
	pace      = 0.7
	nodeCount = 3
)

// Nodes lets every pod make its next step, more or less, and lets faults happen.
func (w *World) Nodes() {
	for _, pod := range w.Truth() {
		w.strike(pod)
		if w.chance(pace) {
			w.live(w.truth[pod.Name], pace)
		}
	}
}

// Settle lets every pod make its next step for sure.
func (w *World) Settle() {
	for _, pod := range w.Truth() {
		w.live(pod, 1)
	}
}

func (w *World) strike(pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil:
		if w.chance(w.Faults.Stick) {
			w.stuck[pod.Name] = true
		}
	case w.chance(w.Faults.Die):
		after := *pod
		after.Status.Phase = corev1.PodFailed
		w.put(&after)
	case w.chance(w.Faults.Evict):
		w.terminate(pod.Name)
	case w.chance(w.Faults.Sicken):
		w.sick[pod.Name] = !w.sick[pod.Name]
	}
}

// live makes the pod's next step; restarts is the chance of each container to restart in it where it has to.
func (w *World) live(pod *corev1.Pod, restarts float64) {
	switch {
	case pod == nil || pods.IsFinished(pod) && pod.DeletionTimestamp == nil:
	case pod.DeletionTimestamp != nil:
		if !w.stuck[pod.Name] {
			w.remove(pod.Name)
		}
	case pod.Spec.NodeName == "":
		after := *pod
		after.Spec.NodeName = fmt.Sprint("node-", w.Rand.Intn(nodeCount))
		w.put(&after)
	default:
		w.kubelet(pod, restarts)
	}
}

// kubelet runs what the spec says and reports it.
func (w *World) kubelet(pod *corev1.Pod, restarts float64) {
	after := *pod
	after.Status.Phase = corev1.PodRunning
	after.Status.Conditions = slices.Clone(pod.Status.Conditions)
	changed := pod.Status.Phase != corev1.PodRunning
	ready := !w.sick[pod.Name] && !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return w.Bad[c.Image] })
	changed = w.runContainers(pod, &after, ready, restarts) || changed
	changed = w.condition(&after, corev1.ContainersReady, ready) || changed
	for _, gate := range pod.Spec.ReadinessGates {
		c := pods.Condition(pod, gate.ConditionType)
		ready = ready && c != nil && c.Status == corev1.ConditionTrue
	}
	changed = w.condition(&after, corev1.PodReady, ready) || changed
	if changed {
		w.put(&after)
	}
}

// runContainers gives containers the image and resources of their spec, one after the other, and tells whether that
// changed anything.
func (w *World) runContainers(pod, after *corev1.Pod, ready bool, restarts float64) (changed bool) {
	after.Status.ContainerStatuses = slices.Clone(pod.Status.ContainerStatuses)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if i >= len(after.Status.ContainerStatuses) {
			after.Status.ContainerStatuses = append(after.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, RestartCount: -1})
		}
		status := &after.Status.ContainerStatuses[i]
		if status.Image != c.Image && (status.Image == "" || w.chance(restarts)) {
			changed = true
			status.Image, status.ImageID = c.Image, "id-"+c.Image
			status.RestartCount++
		}
		if status.Resources == nil || !equality.Semantic.DeepEqual(*status.Resources, c.Resources) {
			changed, status.Resources = true, c.Resources.DeepCopy()
		}
		changed = changed || status.Ready != ready
		status.Ready = ready
	}
	return changed
}

func (w *World) condition(pod *corev1.Pod, kind corev1.PodConditionType, is bool) bool {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	c := pods.Condition(pod, kind)
	if c == nil {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(w.Now)})
		return true
	}
	if c.Status == status {
		return false
	}
	c.Status, c.LastTransitionTime = status, metav1.NewTime(w.Now)
	return true
}
