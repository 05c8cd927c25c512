// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// IsActive says whether the pod still runs or will run: it is neither finished nor being deleted.
func IsActive(pod *corev1.Pod) bool {
	return !IsFinished(pod) && pod.DeletionTimestamp == nil
}

// IsFinished says whether the pod has reached phase Succeeded or Failed.
func IsFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Condition returns the pod's condition of that type, or nil. The result points into the pod.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// HasReadinessGate says whether the pod declares that readiness gate.
func HasReadinessGate(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == kind {
			return true
		}
	}
	return false
}

// IsReady says whether the pod is Running and Ready and no in-place update holds it back. Kubelet
// needs a moment to fold a gate that was just closed into Ready, so the gate is read as well.
func IsReady(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning || !isTrue(pod, corev1.PodReady) {
		return false
	}
	gate := Condition(pod, appsv1beta1.InPlaceUpdateReady)
	return gate == nil || gate.Status == corev1.ConditionTrue
}

// LifecycleState returns the state that the pod's label tells; empty counts as Normal.
func LifecycleState(pod *corev1.Pod) appsv1beta1.LifecycleStateType {
	return appsv1beta1.LifecycleStateType(pod.Labels[appsv1beta1.LifecycleStateKey])
}

// IsNormal says whether no lifecycle step is under way.
func IsNormal(pod *corev1.Pod) bool {
	state := LifecycleState(pod)
	return state == "" || state == appsv1beta1.LifecycleStateNormal
}

// Availability says whether the pod has been ready for minReady with no lifecycle step under way.
// When only time is missing, wait tells how long until it counts as available; else wait is 0.
func Availability(pod *corev1.Pod, minReady time.Duration, now time.Time) (available bool, wait time.Duration) {
	if pod.DeletionTimestamp != nil || !IsReady(pod) || !IsNormal(pod) {
		return false, 0
	}
	if minReady <= 0 {
		return true, 0
	}
	ready := Condition(pod, corev1.PodReady)
	if ready.LastTransitionTime.IsZero() {
		return false, 0
	}
	wait = ready.LastTransitionTime.Add(minReady).Sub(now)
	if wait <= 0 {
		return true, 0
	}
	return false, wait
}

// Revision returns the pod's revision label: a revision's name, or its short hash.
func Revision(pod *corev1.Pod) string {
	return pod.Labels[appsv1beta1.ControllerRevisionHashLabel]
}

// ShortHash returns what stands behind the last dash of a revision's name; a short hash is returned
// as it is.
func ShortHash(revision string) string {
	return revision[strings.LastIndexByte(revision, '-')+1:]
}

// SameRevision says whether two revision labels mean the same revision: a revision's full name and
// its short hash are interchangeable. Empty equals nothing but empty.
func SameRevision(a, b string) bool {
	if a == b {
		return true
	}
	return a != "" && b != "" && ShortHash(a) == ShortHash(b)
}

// IsSpecifiedDelete says whether the pod's label asks for its deletion.
func IsSpecifiedDelete(pod *corev1.Pod) bool {
	_, ok := pod.Labels[appsv1beta1.SpecifiedDeleteKey]
	return ok
}

// Annotation returns the first of the given annotations that the pod carries and is not empty.
func Annotation(pod *corev1.Pod, keys ...string) (string, bool) {
	for _, key := range keys {
		if value, ok := pod.Annotations[key]; ok && value != "" {
			return value, true
		}
	}
	return "", false
}

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	c := Condition(pod, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}
