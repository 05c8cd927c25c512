// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package scalable

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/split"
	"github.com/flotilla-sh/flotilla/internal/podcount"
)

var cloneSet = schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}

// Divider divides by .spec.replicas.
type Divider struct{}

// Divide makes the plan. A share.Problem says that the object cannot be divided as it is.
func (Divider) Divide(req share.Request) (share.Plan, error) {
	replicas, err := share.Replicas(req.Target)
	if err != nil {
		return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
	}
	partition, manual, err := partitionOf(req.Target, replicas)
	if err != nil {
		return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
	}
	plan := share.Plan{Revision: share.Revision(req.Target), Notes: notes(req.Target)}
	shares := divide(req, replicas, &plan)
	partitions := map[string]int32{}
	if manual {
		partitions = partitionsOf(req, partition, shares)
		for _, n := range partitions {
			plan.Subsets[0].Partition += n
		}
	}
	same := map[*unstructured.Unstructured]*unstructured.Unstructured{}
	for _, c := range req.Clusters {
		if same[c.Object] == nil {
			same[c.Object] = memberObject(c.Object, manual)
		}
		n := shares[c.Name]
		slice := share.Slice{
			Cluster: c.Name, Object: same[c.Object], Held: map[string]int32{share.Whole: n},
			Split: []fleetv1alpha1.SubsetReplicas{{Subset: share.Whole, Replicas: n}},
		}
		if manual {
			slice.Partitions = []fleetv1alpha1.SubsetPartition{{Subset: share.Whole, Partition: partitions[c.Name]}}
		}
		plan.Slices = append(plan.Slices, slice)
	}
	return plan, nil
}

// divide fills in everything of the plan but slices and partition, and returns the shares by cluster.
func divide(req share.Request, replicas int32, plan *share.Plan) map[string]int32 {
	shares := map[string]int32{}
	if req.Fixed != nil {
		var placed int32
		for _, c := range req.Clusters {
			shares[c.Name] = req.Fixed[c.Name]
			placed += req.Fixed[c.Name]
		}
		plan.Subsets = []share.Subset{{Replicas: placed}}
		return shares
	}
	if req.Mode == fleetv1alpha1.DivisionDuplicated {
		for _, c := range req.Clusters {
			shares[c.Name] = replicas
		}
		plan.Subsets = []share.Subset{{Replicas: replicas * int32(len(req.Clusters))}}
		return shares
	}
	result := split.Steady(split.Request{Key: string(req.Target.GetUID()), Replicas: replicas, Buckets: req.Buckets(share.Whole, nil)})
	for _, s := range result.Shares {
		shares[s.Name] = s.Replicas
	}
	for _, m := range result.Moves {
		plan.Moves = append(plan.Moves, share.Move{Move: m})
	}
	if result.Short > 0 {
		short := share.Shortage{Replicas: result.Short, Why: "no cluster is selected"}
		if len(req.Clusters) > 0 {
			short.Full = slices.DeleteFunc(result.Full, func(f split.Full) bool { _, left := req.Left[f.Name]; return left })
		}
		plan.Short = []share.Shortage{short}
	}
	plan.Subsets = []share.Subset{{Replicas: replicas - result.Short}}
	return shares
}

// partitionsOf divides the partition in proportion to the shares; copies each keep all of it.
func partitionsOf(req share.Request, partition int32, shares map[string]int32) map[string]int32 {
	if req.Mode != fleetv1alpha1.DivisionDuplicated {
		return req.InProportion("partition", partition, shares)
	}
	out := make(map[string]int32, len(shares))
	for cluster, n := range shares {
		out[cluster] = min(partition, n)
	}
	return out
}

// partitionOf is how many pods stay at the old revision, and whether the object says so at all.
func partitionOf(object *unstructured.Unstructured, replicas int32) (int32, bool, error) {
	if object.GroupVersionKind().GroupKind() != cloneSet {
		return 0, false, nil
	}
	raw, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if err != nil || !found || raw == nil {
		return 0, false, nil
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return 0, false, err
	}
	var value intstr.IntOrString
	if err := json.Unmarshal(data, &value); err != nil {
		return 0, false, fmt.Errorf("spec.updateStrategy.rollingUpdate.partition: %w", err)
	}
	n, err := podcount.Partition(&value, int(replicas))
	if err != nil {
		return 0, false, fmt.Errorf("spec.updateStrategy.rollingUpdate.partition: %w", err)
	}
	return int32(n), true, nil
}

// memberObject is the object without the numbers and without what members write themselves; it shares
// the rest with the base.
func memberObject(base *unstructured.Unstructured, manual bool) *unstructured.Unstructured {
	object := maps.Clone(base.Object)
	spec := share.Child(object, "spec")
	delete(spec, "replicas")
	if manual {
		delete(share.Child(share.Child(spec, "updateStrategy"), "rollingUpdate"), "partition")
	}
	if _, named := podsToDelete(base); named {
		scale := share.Child(spec, "scaleStrategy")
		delete(scale, "podsToDelete")
		if len(scale) == 0 {
			delete(spec, "scaleStrategy")
		}
	}
	return &unstructured.Unstructured{Object: object}
}

// podsToDelete are the pods that a CloneSet names, and whether it has the field. A member's controller
// takes the names of pods that are gone out of its own object, and most of a fleet's pods are not there:
// member and hub would write in turns.
func podsToDelete(object *unstructured.Unstructured) ([]any, bool) {
	if object.GroupVersionKind().GroupKind() != cloneSet {
		return nil, false
	}
	raw, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "scaleStrategy", "podsToDelete")
	names, _ := raw.([]any)
	return names, found
}

func notes(target *unstructured.Unstructured) []string {
	if names, _ := podsToDelete(target); len(names) == 0 {
		return nil
	}
	return []string{"spec.scaleStrategy.podsToDelete is not passed on: label the pods in their cluster with " + appsv1beta1.SpecifiedDeleteKey}
}
