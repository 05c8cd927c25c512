// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var (
	replicasPath   = []string{"spec", "replicas"}
	subsetsPath    = []string{"spec", "topology", "subsets"}
	partitionsPath = []string{"spec", "updateStrategy", "manualUpdate", "partitions"}
)

// isUnitedDeployment tells whether the kind has subsets.
func isUnitedDeployment(kind schema.GroupVersionKind) bool {
	return kind.Group == appsv1beta1.GroupName && kind.Kind == "UnitedDeployment"
}

// partitionPath is where a kind without subsets keeps its partition; nil when it has none.
func partitionPath(kind schema.GroupVersionKind) []string {
	switch {
	case kind.Group == appsv1beta1.GroupName && kind.Kind == "CloneSet" && kind.Version == "v1alpha1":
		return []string{"spec", "updateStrategy", "partition"}
	case kind.Group == appsv1beta1.GroupName && (kind.Kind == "CloneSet" || kind.Kind == "StatefulSet" || kind.Kind == "DaemonSet"),
		kind.Group == "apps" && kind.Kind == "StatefulSet":
		return []string{"spec", "updateStrategy", "rollingUpdate", "partition"}
	default:
		return nil
	}
}

// withoutNumbers takes out of the object, in place, every number that a slice may carry.
func withoutNumbers(obj *unstructured.Unstructured) {
	dropReplicas(obj, nil)
	dropPartitions(obj)
	dropBounds(obj)
}

// dropBounds takes the bounds of a WorkloadSpread's subsets out.
func dropBounds(obj *unstructured.Unstructured) {
	if !isWorkloadSpread(obj.GroupVersionKind()) {
		return
	}
	list, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "subsets")
	items, _ := list.([]any)
	for _, item := range items {
		if subset, ok := item.(map[string]any); ok {
			delete(subset, "maxReplicas")
		}
	}
}

// dropReplicas takes spec.replicas out, and the replicas of the subsets named; nil names all.
func dropReplicas(obj *unstructured.Unstructured, named map[string]bool) {
	unstructured.RemoveNestedField(obj.Object, replicasPath...)
	for _, item := range subsetItems(obj) {
		if name, _ := item["name"].(string); named == nil || named[name] {
			delete(item, "replicas")
		}
	}
}

// rolloutPath is where a kind keeps all that fleet-rollout may own; nil when it has no such thing.
func rolloutPath(kind schema.GroupVersionKind) []string {
	if isUnitedDeployment(kind) {
		return partitionsPath
	}
	return partitionPath(kind)
}

// dropPartitions takes partitions out, and what is left empty around them.
func dropPartitions(obj *unstructured.Unstructured) {
	path := rolloutPath(obj.GroupVersionKind())
	if path == nil {
		return
	}
	unstructured.RemoveNestedField(obj.Object, path...)
	for n := len(path) - 1; n > 1; n-- {
		if m, found, err := unstructured.NestedMap(obj.Object, path[:n]...); !found || err != nil || len(m) > 0 {
			return
		}
		unstructured.RemoveNestedField(obj.Object, path[:n]...)
	}
}

// subsetItems returns the subsets of a UnitedDeployment; they are the object's own.
func subsetItems(obj *unstructured.Unstructured) []map[string]any {
	if !isUnitedDeployment(obj.GroupVersionKind()) {
		return nil
	}
	list, _, _ := unstructured.NestedFieldNoCopy(obj.Object, subsetsPath...)
	items, _ := list.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// subsetNames returns the names of the subsets.
func subsetNames(obj *unstructured.Unstructured) map[string]bool {
	out := map[string]bool{}
	for _, item := range subsetItems(obj) {
		if name, ok := item["name"].(string); ok {
			out[name] = true
		}
	}
	return out
}

// openSubsets returns the subsets that may be given a fixed number: those without bounds, and none
// when the schedule is Adaptive.
func openSubsets(obj *unstructured.Unstructured) map[string]bool {
	out := map[string]bool{}
	schedule, _, _ := unstructured.NestedString(obj.Object, "spec", "topology", "scheduleStrategy", "type")
	if schedule == string(appsv1beta1.AdaptiveUnitedDeploymentScheduleStrategyType) {
		return out
	}
	for _, item := range subsetItems(obj) {
		name, _ := item["name"].(string)
		out[name] = item["minReplicas"] == nil && item["maxReplicas"] == nil
	}
	return out
}

// liveReplicas reads the replicas in force, by subset, "" for the whole object if it has no subsets
// with fixed ones. Percentages are left out.
func liveReplicas(obj *unstructured.Unstructured) map[string]int64 {
	out := map[string]int64{}
	for _, item := range subsetItems(obj) {
		name, _ := item["name"].(string)
		if n, ok := item["replicas"].(int64); ok {
			out[name] = n
		}
	}
	if n, found, err := unstructured.NestedInt64(obj.Object, replicasPath...); found && err == nil && len(out) == 0 {
		out[""] = n
	}
	return out
}

// livePartitions reads the partitions in force, by subset, "" for the whole object. Percentages are
// left out.
func livePartitions(obj *unstructured.Unstructured) map[string]int64 {
	out := map[string]int64{}
	if path := partitionPath(obj.GroupVersionKind()); path != nil {
		if n, found, err := unstructured.NestedInt64(obj.Object, path...); found && err == nil {
			out[""] = n
		}
		return out
	}
	if !isUnitedDeployment(obj.GroupVersionKind()) {
		return out
	}
	all, _, _ := unstructured.NestedMap(obj.Object, partitionsPath...)
	for name, value := range all {
		if n, ok := value.(int64); ok {
			out[name] = n
		}
	}
	return out
}
