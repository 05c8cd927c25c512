// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// adopt makes an object that is there ours: first its fields, then, in them, the sole word, and the
// label last. Until it has the label it is adopted anew, so it may be cut off anywhere.
func (a *applier) adopt(ctx context.Context, slice *fleetv1alpha1.FleetSlice, t *target, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	after, err := a.send(ctx, t.unmarked().update(live, false), live)
	if err != nil {
		return live, err
	}
	if after, err = a.members.takeOver(ctx, after); err != nil {
		return live, fmt.Errorf("taking fields over: %w", err)
	}
	a.events.Publish(adopted(live, slice))
	return a.send(ctx, t.update(after, false), after)
}

// unmarked is the target without the marks that make an object ours.
func (t *target) unmarked() *target {
	out := &target{base: t.base.DeepCopy(), split: t.split, partitions: t.partitions}
	out.base.SetLabels(without(t.base.GetLabels(), fleetv1alpha1.SliceLabel))
	out.base.SetAnnotations(without(t.base.GetAnnotations(), fleetv1alpha1.SourceAnnotation, epochAnnotation))
	return out
}

// takeOver takes the fields that we apply from everybody else who holds them too: what leaves the
// slice would otherwise stay, held by a writer that no longer speaks. Fields of theirs alone stay
// theirs, and so does what they hold by subresources, as autoscalers do.
func (m *members) takeOver(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	entries, changed, err := withoutShared(obj.GetManagedFields())
	if err != nil || !changed {
		return obj, err
	}
	after := obj.DeepCopy()
	after.SetManagedFields(entries)
	err = m.direct.Patch(ctx, after, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), client.FieldOwner(agentOwner))
	if err != nil {
		return obj, err
	}
	m.applier.Forget(after)
	return after, nil
}

// withoutShared takes our fields out of the entries of others; an entry left empty goes.
func withoutShared(entries []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry, changed bool, err error) {
	ours := fieldpath.NewSet()
	for _, e := range entries {
		if ourManager(e) {
			set, err := fieldsOf(e)
			if err != nil {
				return nil, false, err
			}
			ours = ours.Union(set)
		}
	}
	for _, e := range entries {
		if ourManager(e) || e.Subresource != "" {
			out = append(out, e)
			continue
		}
		theirs, err := fieldsOf(e)
		if err != nil {
			return nil, false, err
		}
		rest := theirs.Difference(ours)
		if rest.Equals(theirs) {
			out = append(out, e)
			continue
		}
		changed = true
		if rest.Empty() {
			continue
		}
		raw, err := rest.ToJSON()
		if err != nil {
			return nil, false, err
		}
		kept := *e.DeepCopy()
		kept.FieldsV1 = metav1.NewFieldsV1(string(raw))
		out = append(out, kept)
	}
	return out, changed, nil
}

func fieldsOf(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("fields of %s: %w", e.Manager, err)
	}
	return set, nil
}
