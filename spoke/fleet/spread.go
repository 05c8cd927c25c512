// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/seconds"
)

func isWorkloadSpread(kind schema.GroupVersionKind) bool {
	return kind.Group == appsv1beta1.GroupName && kind.Kind == "WorkloadSpread"
}

// takenUp tells whether the controller of WorkloadSpreads has seen this one as it is: pods made before that
// would be let in by the books of its earlier bounds, or by none.
func takenUp(spread *unstructured.Unstructured) error {
	if spread == nil || number(spread, "status", "observedGeneration") >= spread.GetGeneration() {
		return nil
	}
	return waitingError{describe(spread) + " has yet to be observed by its controller; the workload waits for it"}
}

// spreadCounters are what a WorkloadSpread says of its subsets, and how many of the workload's pods find no
// node for longer than it allows.
func spreadCounters(obj *unstructured.Unstructured, views []subsetView, now time.Time) ([]fleetv1alpha1.SpreadCounters, error) {
	var spread appsv1beta1.WorkloadSpread
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &spread); err != nil {
		return nil, fmt.Errorf("%s: %w", describe(obj), err)
	}
	stuck := stuckBySubset(&spread, views, now)
	var out []fleetv1alpha1.SpreadCounters
	for _, s := range spread.Status.SubsetStatuses {
		if !slices.ContainsFunc(spread.Spec.Subsets, func(wanted appsv1beta1.WorkloadSpreadSubset) bool { return wanted.Name == s.Name }) {
			continue
		}
		out = append(out, fleetv1alpha1.SpreadCounters{
			Subset: s.Name, Replicas: s.Replicas, MissingReplicas: s.MissingReplicas, UnschedulableReplicas: stuck[s.Name],
		})
	}
	slices.SortFunc(out, func(a, b fleetv1alpha1.SpreadCounters) int { return cmp.Compare(a.Subset, b.Subset) })
	return out, nil
}

// stuckBySubset counts the pods that find no node; none when the WorkloadSpread lets them wait for ever.
func stuckBySubset(spread *appsv1beta1.WorkloadSpread, views []subsetView, now time.Time) map[string]int32 {
	out := map[string]int32{}
	strategy := spread.Spec.ScheduleStrategy
	if strategy.Type != appsv1beta1.AdaptiveWorkloadSpreadScheduleStrategyType || strategy.Adaptive == nil ||
		strategy.Adaptive.RescheduleCriticalSeconds == nil || *strategy.Adaptive.RescheduleCriticalSeconds <= 0 {
		return out
	}
	patience := seconds.Of(*strategy.Adaptive.RescheduleCriticalSeconds)
	for _, view := range views {
		for _, pod := range view.pods {
			if isUnschedulable(pod) && now.Sub(pod.CreationTimestamp.Time) >= patience {
				out[subsetOf(pod, spread.Name)]++
			}
		}
	}
	return out
}

func isUnschedulable(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName != "" {
		return false
	}
	c := pods.Condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

// subsetOf is the subset that a pod was given by that WorkloadSpread; "" for none.
func subsetOf(pod *corev1.Pod, spread string) string {
	var given struct{ Name, Subset string } // whatever the case of the keys
	if json.Unmarshal([]byte(pod.Annotations[appsv1beta1.MatchedWorkloadSpreadKey]), &given) != nil || given.Name != spread {
		return ""
	}
	return given.Subset
}
