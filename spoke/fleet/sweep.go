// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// sweeper looks for objects of ours whose slice has vanished without being deleted: the hub has lost
// it, or somebody took its finalizer off. It deletes them only when sweepable says so.
type sweeper struct {
	hub       *connection
	members   *members
	inventory *inventory
	events    events.Publisher
	clock     clock.PassiveClock
	// interval between two looks, and how long an epoch must have stood.
	interval, patience time.Duration

	epochs epochWatch
}

// epochWatch knows since when complete lists have been of one epoch with the same slices.
type epochWatch struct {
	epoch int64
	names string
	since time.Time
}

// run sweeps until the context ends.
func (s *sweeper) run(ctx context.Context) {
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errNoHub) {
			log.FromContext(ctx).Info("could not look for objects whose slice is gone", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.interval):
		}
	}
}

// sweep makes one look.
func (s *sweeper) sweep(ctx context.Context) error {
	h, err := s.hub.current()
	if err != nil {
		return err
	}
	highest, kinds, err := s.inventory.read(ctx)
	if err != nil {
		return err
	}
	ours, err := s.members.listOurs(ctx, kinds, "")
	if err != nil || len(ours) == 0 {
		return err
	}
	list, err := h.complete(ctx)
	if err != nil {
		return fmt.Errorf("reading all slices: %w", err)
	}
	epoch := commonEpoch(list)
	stood := s.epochs.observe(epoch, list, s.clock.Now())
	known := map[string]bool{}
	for i := range list {
		known[list[i].Name] = true
	}
	var errs []error
	for i := range ours {
		obj := &ours[i]
		if known[obj.GetLabels()[fleetv1alpha1.SliceLabel]] || obj.GetDeletionTimestamp() != nil {
			continue
		}
		errs = append(errs, s.settle(ctx, obj, sweepable(objectEpoch(obj), epoch, highest, stood >= s.patience)))
	}
	return errors.Join(errs...)
}

// settle deletes an object without a slice, or says why it is left.
func (s *sweeper) settle(ctx context.Context, obj *unstructured.Unstructured, why string) error {
	if why != "" {
		s.events.Publish(left(obj, fmt.Sprintf("slice %s is not on the hub; the object is left alone: %s", obj.GetLabels()[fleetv1alpha1.SliceLabel], why)))
		return nil
	}
	log.FromContext(ctx).Info("deleting an object whose slice is gone", "object", describe(obj), "slice", obj.GetLabels()[fleetv1alpha1.SliceLabel])
	return s.members.delete(ctx, obj)
}

// noEpoch is the common epoch of a list that has none.
const noEpoch = -1

// commonEpoch is the epoch that all slices have; noEpoch when they differ or there are none.
func commonEpoch(list []fleetv1alpha1.FleetSlice) int64 {
	epoch := int64(noEpoch)
	for i := range list {
		switch {
		case i == 0:
			epoch = list[i].Spec.Epoch
		case epoch != list[i].Spec.Epoch:
			return noEpoch
		}
	}
	return epoch
}

// observe returns for how long lists have been of this epoch with these slices.
func (w *epochWatch) observe(epoch int64, list []fleetv1alpha1.FleetSlice, now time.Time) time.Duration {
	names := ""
	for i := range list {
		names += list[i].Name + "\n" // lists come sorted by name
	}
	if w.since.IsZero() || w.epoch != epoch || w.names != names {
		*w = epochWatch{epoch: epoch, names: names, since: now}
	}
	return now.Sub(w.since)
}

// sweepable tells why an object whose slice is not in a complete list must stay; "" when it may be
// deleted. object is the epoch it was applied in, list that of all slices in the list, highest the
// highest ever seen. Only a hub that says of itself that it is a new one has the last word on what
// it does not know: its epoch is above the object's. stood tells that it has had time to write all
// its slices.
func sweepable(object, list, highest int64, stood bool) string {
	switch {
	case list == noEpoch:
		return "the slices on the hub are none, or of different epochs"
	case list < highest:
		return fmt.Sprintf("the hub is at epoch %d, but epoch %d has been seen", list, highest)
	case list <= object:
		return fmt.Sprintf("the hub's epoch %d is not above that of the object, %d", list, object)
	case !stood:
		return fmt.Sprintf("the hub is at epoch %d only since lately", list)
	default:
		return ""
	}
}

// objectEpoch is the epoch an object was applied in; one that does not say is of the highest there
// may be, so that it is never swept.
func objectEpoch(obj *unstructured.Unstructured) int64 {
	epoch, err := strconv.ParseInt(obj.GetAnnotations()[epochAnnotation], 10, 64)
	if err != nil {
		return 1<<63 - 1
	}
	return epoch
}
