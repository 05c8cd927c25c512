// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// compareValue puts the least valuable pod first: unassigned, then by phase, not ready, of a revision that is
// neither the present nor the wanted one, more recently ready, more restarts, newer.
func compareValue(a, b *Pod) int {
	return cmp.Or(
		falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseRank(a.Pod), phaseRank(b.Pod)),
		falseFirst(isReady(a.Pod), isReady(b.Pod)),
		falseFirst(!a.Superseded, !b.Superseded),
		compareReadySince(a.Pod, b.Pod),
		cmp.Compare(maxRestarts(b.Pod), maxRestarts(a.Pod)),
		laterFirst(&a.CreationTimestamp, &b.CreationTimestamp),
	)
}

// compareScaleDown puts the pod to remove first.
func compareScaleDown(a, b *Pod, rankA, rankB float64) int {
	return cmp.Or(
		falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseRank(a.Pod), phaseRank(b.Pod)),
		falseFirst(a.Available, b.Available),
		falseFirst(isReady(a.Pod), isReady(b.Pod)),
		cmp.Compare(deletionCost(a.Pod), deletionCost(b.Pod)),
		cmp.Compare(rankB, rankA),
		compareReadySince(a.Pod, b.Pod),
		cmp.Compare(maxRestarts(b.Pod), maxRestarts(a.Pod)),
		laterFirst(&a.CreationTimestamp, &b.CreationTimestamp),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// laterFirst puts the later time first, and no time at all before any.
func laterFirst(a, b *metav1.Time) int {
	switch {
	case a.Equal(b):
		return 0
	case a.IsZero():
		return -1
	case b.IsZero():
		return 1
	default:
		return -a.Compare(b.Time)
	}
}

// phaseRank orders Pending, Unknown, Running.
func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodUnknown:
		return 1
	case corev1.PodRunning:
		return 2
	default:
		return 0
	}
}

func isReady(pod *corev1.Pod) bool {
	c := pods.Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func compareReadySince(a, b *corev1.Pod) int {
	if !isReady(a) || !isReady(b) {
		return 0
	}
	return laterFirst(&pods.Condition(a, corev1.PodReady).LastTransitionTime,
		&pods.Condition(b, corev1.PodReady).LastTransitionTime)
}

func maxRestarts(pod *corev1.Pod) int32 {
	var n int32
	for i := range pod.Status.ContainerStatuses {
		n = max(n, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return n
}

// deletionCost reads the pod's deletion cost as Kubernetes does: no plus sign, no leading zeros;
// anything else counts as 0.
func deletionCost(pod *corev1.Pod) int32 {
	text := pod.Annotations[appsv1beta1.PodDeletionCostKey]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0
	}
	return int32(n)
}
