// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// The simulation judges by what stands here, not by the code it tests: what a CloneSet's numbers mean and when a pod is
// available is written down a second time, from the contract.

// bounds are a CloneSet's numbers in pods.
type bounds struct{ replicas, partition, surge, unavailable int }

// boundsOf reads a defaulted set.
func boundsOf(set *appsv1beta1.CloneSet) bounds {
	b := bounds{replicas: int(*set.Spec.Replicas)}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if set.Spec.UpdateStrategy.Type == appsv1beta1.CloneSetOnDeleteUpdateStrategyType || rolling == nil {
		b.unavailable = b.replicas / 5
		return b
	}
	b.partition = share(rolling.Partition, b.replicas, true)
	if rolling.Partition != nil && rolling.Partition.Type == intstr.String && rolling.Partition.StrVal != "100%" &&
		b.replicas > 1 && b.partition == b.replicas {
		b.partition-- // less than all leaves one to update
	}
	b.partition = max(0, min(b.partition, b.replicas))
	if !rolling.Paused {
		b.surge = share(rolling.MaxSurge, b.replicas, true)
	}
	b.unavailable = share(rolling.MaxUnavailable, b.replicas, b.surge == 0)
	return b
}

// share is a number, or a whole percentage of all.
func share(v *intstr.IntOrString, all int, up bool) int {
	if v == nil {
		return 0
	}
	if v.Type == intstr.Int {
		return int(v.IntVal)
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	if err != nil {
		panic(v.StrVal)
	}
	whole := percent * all
	if up {
		whole += 99
	}
	return whole / 100
}

// serves says whether a pod is available: running, ready for so long, no update and no lifecycle step under way.
func serves(pod *corev1.Pod, minReady time.Duration, now time.Time) bool {
	state := pod.Labels["lifecycle.apps.kruise.io/state"]
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning || state != "" && state != "Normal" {
		return false
	}
	ready := false
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == "InPlaceUpdateReady" && c.Status != corev1.ConditionTrue:
			return false
		case c.Type == corev1.PodReady:
			ready = c.Status == corev1.ConditionTrue && !now.Before(c.LastTransitionTime.Add(minReady))
		}
	}
	return ready
}

// counts says whether a pod is one of the set's: it runs or will run.
func counts(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// carries says whether a pod has a revision, by the number that ends its name.
func carries(pod *corev1.Pod, revision string) bool {
	label := pod.Labels["controller-revision-hash"]
	return label == revision || label != "" && strings.HasSuffix(revision, "-"+label)
}
