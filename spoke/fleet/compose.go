// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// epochAnnotation is on member objects: the hub's epoch when they were last applied. The agent writes
// and reads it: an object may be swept only by a higher epoch.
const epochAnnotation = "internal.fleet.kruise.io/epoch"

// target is one member object of a slice.
type target struct {
	// base is the object as the slice has it, marked as ours, without the numbers that split and
	// partitions set.
	base *unstructured.Unstructured
	// split is nil for a whole copy.
	split map[string]int64
	// partitions is nil when the slice has none.
	partitions map[string]int64
}

// unreadableError says that a slice cannot be understood.
type unreadableError struct{ why string }

func (e unreadableError) Error() string { return e.why }

// compose turns a slice into its member objects. Only the first carries numbers.
func compose(slice *fleetv1alpha1.FleetSlice) ([]*target, error) {
	if errs := validation.IsValidLabelValue(slice.Name); len(errs) > 0 {
		return nil, unreadableError{"the slice's name cannot be a label: " + errs[0]}
	}
	out := make([]*target, 0, len(slice.Spec.Objects))
	seen := map[string]bool{}
	for i := range slice.Spec.Objects {
		t, err := composeOne(slice, slice.Spec.Objects[i].Raw)
		if err == nil && i == 0 {
			err = t.takeNumbers(slice)
		}
		if err == nil && seen[describe(t.base)] {
			err = errors.New("the slice has it twice")
		}
		if err != nil {
			return nil, unreadableError{fmt.Sprintf("spec.objects[%d]: %v", i, err)}
		}
		seen[describe(t.base)] = true
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, unreadableError{"spec.objects is empty"}
	}
	return out, nil
}

func composeOne(slice *fleetv1alpha1.FleetSlice, raw []byte) (*target, error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	if obj.GetName() == "" {
		return nil, errors.New("no metadata.name")
	}
	metadata := map[string]any{"name": obj.GetName()}
	if obj.GetNamespace() != "" {
		metadata["namespace"] = obj.GetNamespace()
	}
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	obj.Object["metadata"] = metadata
	delete(obj.Object, "status")
	obj.SetLabels(with(labels, fleetv1alpha1.SliceLabel, slice.Name))
	annotations = with(annotations, fleetv1alpha1.SourceAnnotation, sourceOf(slice))
	obj.SetAnnotations(with(annotations, epochAnnotation, strconv.FormatInt(slice.Spec.Epoch, 10)))
	return &target{base: obj}, nil
}

// takeNumbers moves the numbers of the slice out of the object.
func (t *target) takeNumbers(slice *fleetv1alpha1.FleetSlice) error {
	names := subsetNames(t.base)
	known := func(subset string) bool { return subset == "" || names[subset] }
	if slice.Spec.Split != nil {
		t.split = map[string]int64{}
		named := map[string]bool{}
		for _, s := range slice.Spec.Split {
			if !known(s.Subset) {
				return fmt.Errorf("spec.split names subset %q, which the object does not have", s.Subset)
			}
			t.split[s.Subset], named[s.Subset] = int64(s.Replicas), true
		}
		dropReplicas(t.base, named)
	}
	if len(slice.Spec.Partitions) == 0 {
		return nil
	}
	t.partitions = map[string]int64{}
	for _, p := range slice.Spec.Partitions {
		if !known(p.Subset) {
			return fmt.Errorf("spec.partitions names subset %q, which the object does not have", p.Subset)
		}
		t.partitions[p.Subset] = int64(p.Partition)
	}
	if n := t.partitions[""]; n > 0 && partitionPath(t.base.GroupVersionKind()) == nil {
		return fmt.Errorf("spec.partitions keeps %d pods at the old revision, but kind %s knows no partition", n, t.base.GetKind())
	}
	dropPartitions(t.base)
	return nil
}

// identity is the object without any field.
func (t *target) identity() *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(t.base.GroupVersionKind())
	out.SetNamespace(t.base.GetNamespace())
	out.SetName(t.base.GetName())
	return out
}

// splitSet is the fields of fleet-split for those subsets that are in only; nil is all. A total over
// some subsets is the sum of these.
func (t *target) splitSet(only map[string]bool) *unstructured.Unstructured {
	out := t.identity()
	if t.split == nil {
		return out
	}
	total, whole := t.split[""]
	open := openSubsets(t.base)
	var items []any
	for _, item := range subsetItems(t.base) {
		name, _ := item["name"].(string)
		n, said := t.split[name]
		if !said || (only != nil && !only[name]) {
			continue
		}
		if !whole {
			total += n
		}
		if open[name] {
			items = append(items, map[string]any{"name": name, "replicas": n})
		}
	}
	_ = unstructured.SetNestedField(out.Object, total, replicasPath...)
	if len(items) > 0 {
		_ = unstructured.SetNestedSlice(out.Object, items, subsetsPath...)
	}
	return out
}

// rolloutSet is the fields of fleet-rollout for those subsets that are in only; nil is all. No
// partition is lower than floor has it, so with a floor there may be more than the slice names.
func (t *target) rolloutSet(only map[string]bool, floor map[string]int64) *unstructured.Unstructured {
	out := t.identity()
	if path := partitionPath(t.base.GroupVersionKind()); path != nil {
		if n, said := t.partitions[""]; said || floor[""] > 0 {
			_ = unstructured.SetNestedField(out.Object, max(n, floor[""]), path...)
		}
		return out
	}
	all := map[string]any{}
	for name := range subsetNames(t.base) {
		n, said := t.partitions[name]
		n = max(n, floor[name])
		if (said || n > 0) && (only == nil || only[name]) {
			all[name] = n
		}
	}
	if len(all) > 0 {
		_ = unstructured.SetNestedMap(out.Object, all, partitionsPath...)
	}
	return out
}

// whole is the object with all numbers, as it is created.
func (t *target) whole() *unstructured.Unstructured {
	out := t.base.DeepCopy()
	merge(out.Object, t.splitSet(nil).Object)
	merge(out.Object, t.rolloutSet(nil, nil).Object)
	return out
}

// merge lays over onto base: maps key by key, lists of named items item by item.
func merge(base, over map[string]any) {
	for key, value := range over {
		switch value := value.(type) {
		case map[string]any:
			child, ok := base[key].(map[string]any)
			if !ok {
				child = map[string]any{}
				base[key] = child
			}
			merge(child, value)
		case []any:
			mergeNamed(base[key], value)
		default:
			base[key] = value
		}
	}
}

func mergeNamed(base any, over []any) {
	items, _ := base.([]any)
	for _, o := range over {
		item := o.(map[string]any)
		for _, b := range items {
			if named, ok := b.(map[string]any); ok && named["name"] == item["name"] {
				merge(named, item)
			}
		}
	}
}

func sourceOf(slice *fleetv1alpha1.FleetSlice) string {
	if slice.Spec.Source.Namespace == "" {
		return slice.Spec.Source.Name
	}
	return slice.Spec.Source.Namespace + "/" + slice.Spec.Source.Name
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// describe names an object for people: kind, namespace and name.
func describe(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return obj.GetKind() + " " + obj.GetName()
	}
	return obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
}
