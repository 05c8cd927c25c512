// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Costs are the deletion costs of the active pods of one version by name: workloads delete those of the lowest
// cost first. The last subset is emptied first, in older versions the first; above all go the pods of no subset,
// and those that are more than their subset takes. It is an error when a quota cannot be told.
func Costs(subsets []appsv1beta1.WorkloadSpreadSubset, replicas int32, groups map[string][]*corev1.Pod, latest bool) (map[string]string, error) {
	out := map[string]string{}
	for i := range subsets {
		quota, err := Quota(subsets[i].MaxReplicas, replicas)
		if err != nil {
			return nil, err
		}
		place := i
		if !latest {
			place = len(subsets) - 1 - i
		}
		active := active(groups[subsets[i].Name])
		slices.SortStableFunc(active, lessAliveFirst)
		over := len(active) - int(quota)
		if quota == Unlimited {
			over = 0
		}
		for k, pod := range active {
			out[pod.Name] = strconv.Itoa(100 * (len(subsets) - place))
			if k < over {
				out[pod.Name] = strconv.Itoa(-100 * (place + 1))
			}
		}
	}
	for _, pod := range active(groups[Outside]) {
		out[pod.Name] = strconv.Itoa(-100 * (len(subsets) + 1))
	}
	return out, nil
}

func active(all []*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(all))
	for _, pod := range all {
		if pods.IsActive(pod) {
			out = append(out, pod)
		}
	}
	return out
}

var liveliness = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

// lessAliveFirst is the order in which Kubernetes gives up pods: first those without a node, pending, unknown, not ready,
// ready for a short time, restarted often, young. Names decide at last, so that the order stays.
func lessAliveFirst(a, b *corev1.Pod) int {
	return cmp.Or(
		rank(a.Spec.NodeName != "")-rank(b.Spec.NodeName != ""),
		liveliness[a.Status.Phase]-liveliness[b.Status.Phase],
		rank(pods.IsReady(a))-rank(pods.IsReady(b)),
		readySince(b).Compare(readySince(a).Time),
		int(restarts(b)-restarts(a)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func rank(is bool) int {
	if is {
		return 1
	}
	return 0
}

func readySince(pod *corev1.Pod) metav1.Time {
	if c := pods.Condition(pod, corev1.PodReady); c != nil && pods.IsReady(pod) {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

func restarts(pod *corev1.Pod) int32 {
	most := int32(0)
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}
