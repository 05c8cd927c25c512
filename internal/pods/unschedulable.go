// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsUnschedulable says whether the scheduler has looked for a node for the pod and found none.
func IsUnschedulable(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName != "" {
		return false
	}
	c := Condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

// UnschedulableFor says whether the pod is unschedulable and older than a while: the time is that since its creation.
// When only time is missing, wait tells how long until it is; else wait is 0.
func UnschedulableFor(pod *corev1.Pod, while time.Duration, now time.Time) (late bool, wait time.Duration) {
	if !IsUnschedulable(pod) {
		return false, 0
	}
	wait = pod.CreationTimestamp.Add(while).Sub(now)
	if wait < 0 {
		return true, 0
	}
	return false, max(wait, time.Nanosecond)
}
