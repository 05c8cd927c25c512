// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// mayDelete refuses the word of a hub that is older than one we have heard: it was restored from a
// backup and may not know what it has since given out.
func (a *applier) mayDelete(ctx context.Context, slice *fleetv1alpha1.FleetSlice) error {
	highest, _, err := a.inventory.read(ctx)
	if err != nil {
		return err
	}
	if slice.Spec.Epoch < highest {
		return fmt.Errorf("the slice is of epoch %d, but epoch %d has been seen: nothing is deleted on its word", slice.Spec.Epoch, highest)
	}
	return a.inventory.note(ctx, slice.Spec.Epoch)
}

// takeBack deletes or releases all objects of a slice that is being deleted, and lets the slice go
// once none is left.
func (a *applier) takeBack(ctx context.Context, h *hub, slice *fleetv1alpha1.FleetSlice) error {
	if !slices.Contains(slice.Finalizers, fleetv1alpha1.SliceFinalizer) {
		return nil
	}
	if err := a.mayDelete(ctx, slice); err != nil {
		return err
	}
	ours, err := a.objectsOf(ctx, slice)
	if err != nil {
		return err
	}
	if len(ours) == 0 {
		return h.dropFinalizer(ctx, slice)
	}
	var errs []error
	for _, obj := range ours {
		errs = append(errs, a.letGo(ctx, slice, obj))
	}
	if slice.Spec.DeletionPolicy == fleetv1alpha1.DeletionOrphan && errors.Join(errs...) == nil {
		return h.dropFinalizer(ctx, slice)
	}
	return errors.Join(errs...)
}

// objectsOf returns the objects that carry the slice's label: those it lists, asked for one by one,
// and any others in the cache.
func (a *applier) objectsOf(ctx context.Context, slice *fleetv1alpha1.FleetSlice) ([]*unstructured.Unstructured, error) {
	targets, err := compose(slice)
	if err != nil {
		targets = nil // what cannot be read was never applied as it is; the label finds what was before
	}
	var out []*unstructured.Unstructured
	for _, t := range targets {
		live, err := a.labelled(ctx, slice, t)
		if err != nil {
			return nil, err
		}
		if live != nil {
			out = append(out, live)
		}
	}
	_, kinds, err := a.inventory.read(ctx)
	if err != nil {
		return nil, err
	}
	cached, err := a.members.listOurs(ctx, kinds, slice.Name)
	for i := range cached {
		if !slices.ContainsFunc(targets, func(t *target) bool { return sameObject(t.base, &cached[i]) }) {
			out = append(out, &cached[i])
		}
	}
	return out, err
}

// labelled returns the target's object if it is there and carries the slice's label.
func (a *applier) labelled(ctx context.Context, slice *fleetv1alpha1.FleetSlice, t *target) (*unstructured.Unstructured, error) {
	kind := t.base.GroupVersionKind()
	served, err := a.members.serves(kind)
	if err != nil || !served {
		return nil, err
	}
	if err := a.members.mayRead(ctx, kind); err != nil {
		return nil, a.unlessNeverHad(ctx, kind, err)
	}
	if err := a.watch(kind); err != nil {
		return nil, err
	}
	live, err := a.members.live(ctx, t.base)
	if err != nil || live == nil || live.GetLabels()[fleetv1alpha1.SliceLabel] != slice.Name {
		return nil, err
	}
	return live, nil
}

// unlessNeverHad drops the error about a kind of which nothing was ever applied here.
func (a *applier) unlessNeverHad(ctx context.Context, kind schema.GroupVersionKind, err error) error {
	_, kinds, readErr := a.inventory.read(ctx)
	if readErr == nil && apierrors.IsForbidden(err) && !slices.Contains(kinds, kind) {
		return nil
	}
	return errors.Join(err, readErr)
}

// letGo deletes or releases one object of ours, as the slice's deletion policy says.
func (a *applier) letGo(ctx context.Context, slice *fleetv1alpha1.FleetSlice, obj *unstructured.Unstructured) error {
	if slice.Spec.DeletionPolicy == fleetv1alpha1.DeletionOrphan {
		if err := a.members.release(ctx, obj); err != nil {
			return fmt.Errorf("releasing %s: %w", describe(obj), err)
		}
		a.events.Publish(released(obj, slice))
		return nil
	}
	if err := a.members.delete(ctx, obj); err != nil {
		return fmt.Errorf("deleting %s: %w", describe(obj), err)
	}
	return nil
}
