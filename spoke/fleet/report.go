// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/pods"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// observation is what is seen of a slice's first object.
type observation struct {
	// object as the cache has it; nil when it is not there.
	object *unstructured.Unstructured
	// subsets of a UnitedDeployment, or the whole object under "".
	subsets []subsetView
	// spread has the counters of the WorkloadSpread, by subset.
	spread []fleetv1alpha1.SpreadCounters
}

// subsetView is one workload and its pods.
type subsetView struct {
	name string
	// desired replicas, and the partition in force.
	desired, partition int32
	// the workload's own counters.
	replicas, ready, available, updated, updatedReady int32
	// countPods tells that updated and updatedReady are to be counted from the pods' revision labels.
	countPods bool
	pods      []*corev1.Pod
}

// statusOf computes a slice's status from what applying came to and what is seen. Of the status
// before only the time of the last transition is used.
func statusOf(before *fleetv1alpha1.FleetSliceStatus, applied result, seen observation) *fleetv1alpha1.FleetSliceStatus {
	status := &fleetv1alpha1.FleetSliceStatus{
		Conditions:         slices.Clone(before.Conditions),
		ObservedGeneration: applied.generation,
		ObjectGeneration:   applied.objectGeneration,
	}
	conditions.Set(&status.Conditions, applied.condition())
	if seen.object == nil {
		return status
	}
	status.ObjectGeneration = max(status.ObjectGeneration, seen.object.GetGeneration())
	status.ObjectObservedGeneration = number(seen.object, "status", "observedGeneration")
	status.CurrentRevision = text(seen.object, "status", "currentRevision")
	status.UpdatedRevision = updatedRevision(seen.object)
	for _, view := range seen.subsets {
		status.Subsets = append(status.Subsets, view.counters(status.UpdatedRevision))
	}
	slices.SortFunc(status.Subsets, func(a, b fleetv1alpha1.SubsetCounters) int { return cmp.Compare(a.Subset, b.Subset) })
	status.Spread = seen.spread
	status.Worst = worst(seen.subsets)
	return status
}

// counters counts one subset. revision is the UnitedDeployment's newest.
func (v subsetView) counters(revision string) fleetv1alpha1.SubsetCounters {
	updated, updatedReady := v.updated, v.updatedReady
	if v.countPods {
		updated, updatedReady = 0, 0
		for _, pod := range v.pods {
			if !pods.IsActive(pod) || revision == "" || pod.Labels[appsv1beta1.SubsetRevisionLabel] != revision {
				continue
			}
			updated++
			if pods.IsReady(pod) {
				updatedReady++
			}
		}
	}
	return fleetv1alpha1.SubsetCounters{
		Subset: v.name, Replicas: v.replicas, ReadyReplicas: v.ready,
		UpdatedReplicas: updated, UpdatedReadyReplicas: updatedReady,
		UnavailableReplicas: max(v.desired-v.available, 0), Partition: v.partition,
	}
}

// settled tells whether everything that is wanted is there and ready, so that only an event can
// change the report.
func (o observation) settled(status *fleetv1alpha1.FleetSliceStatus) bool {
	if o.object == nil || status.ObjectObservedGeneration < status.ObjectGeneration || len(status.Worst) > 0 {
		return false
	}
	for _, v := range o.subsets {
		if v.replicas != v.desired || v.ready != v.desired || v.available != v.desired {
			return false
		}
	}
	return true
}

// wholeView reads the counters that a workload of any kind keeps in its status. A kind without
// replicas has none.
func wholeView(obj *unstructured.Unstructured) (subsetView, bool) {
	if _, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "replicas"); !found {
		return subsetView{}, false
	}
	v := subsetView{
		desired:   int32(number(obj, "spec", "replicas")),
		partition: int32(livePartitions(obj)[""]),
		replicas:  int32(number(obj, "status", "replicas")),
		ready:     int32(number(obj, "status", "readyReplicas")),
		available: int32(number(obj, "status", "availableReplicas")),
		updated:   int32(number(obj, "status", "updatedReplicas")),
	}
	if _, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", "updatedReadyReplicas"); found {
		v.updatedReady = int32(number(obj, "status", "updatedReadyReplicas"))
	} else {
		v.updatedReady = leastReady(v.ready, v.replicas, v.updated)
	}
	return v, true
}

// leastReady is how many updated pods are ready at least: as many as are ready beyond the old ones.
func leastReady(ready, replicas, updated int32) int32 {
	return max(min(ready-(replicas-updated), updated), 0)
}

// updatedRevision reads the newest revision's name; built-in kinds say updateRevision.
func updatedRevision(obj *unstructured.Unstructured) string {
	return cmp.Or(text(obj, "status", "updatedRevision"), text(obj, "status", "updateRevision"))
}

func number(obj *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(obj.Object, path...)
	return n
}

func text(obj *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(obj.Object, path...)
	return s
}

// sameReport tells whether writing b over a would change nothing.
func sameReport(a, b *fleetv1alpha1.FleetSliceStatus) bool { return equality.Semantic.DeepEqual(a, b) }
