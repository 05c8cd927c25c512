// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// FieldOwner owns what this package writes: finalizers and status.
const FieldOwner = "hub-fleetplacement"

// outcome is what came of a decision's writes.
type outcome struct {
	// written are the slices written in this pass, by cluster.
	written map[string]*fleetv1alpha1.FleetSlice
	// failed says why slices were not written, by cluster.
	failed map[string]error
	// takeBack joins the errors of deleting slices.
	takeBack error
	// again is after how long to look again at agents whose cluster is gone; 0 when there are none.
	again time.Duration
}

// reason of condition FleetPlaced when something was not written.
func (o outcome) reason() string {
	for _, err := range o.failed {
		if !errors.Is(err, slice.ErrDeleting) {
			return fleetv1alpha1.ReasonApplyFailed
		}
	}
	return fleetv1alpha1.ReasonDeleting
}

// retry is the error to try again for: what waits for a member, or for another size, is not.
func (o outcome) retry() error {
	errs := []error{o.takeBack}
	for _, err := range o.failed {
		var tooLarge slice.TooLargeError
		if !errors.Is(err, slice.ErrDeleting) && !errors.As(err, &tooLarge) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// secure sees to the finalizers before anything is given out which could not be taken back, and lets go
// of a target whose last slice has gone.
func (r *Reconciler) secure(ctx context.Context, s *snapshot, d decision) error {
	if d.release && len(d.remove) == 0 {
		return r.setFinalizer(ctx, s.target, false)
	}
	if len(d.desired) == 0 {
		return nil
	}
	if err := r.setFinalizer(ctx, s.placement, true); err != nil {
		return err
	}
	return r.setFinalizer(ctx, s.target, true)
}

// notSecured leaves nothing of the decision but why its finalizers are not as they must be.
func (d *decision) notSecured(why error) {
	d.plan, d.desired, d.remove = nil, nil, nil
	d.placed = &share.Problem{Reason: fleetv1alpha1.ReasonApplyFailed, Message: why.Error()}
}

// write writes and deletes the decision's slices.
func (r *Reconciler) write(ctx context.Context, s *snapshot, d decision) outcome {
	result := r.Slices.Write(ctx, d.desired, s.slices)
	out := outcome{written: result.Written, failed: result.Failed}
	out.again, out.takeBack = r.takeBack(ctx, s, d.remove)
	if len(out.written) > 0 {
		countMoves(d.plan)
	}
	return out
}

// takeBack deletes slices, and lets those go whose cluster is gone for ever. It returns after how long to
// look again at clusters that are gone but whose agents still are at work; 0 when there are none.
func (r *Reconciler) takeBack(ctx context.Context, s *snapshot, list []*fleetv1alpha1.FleetSlice) (time.Duration, error) {
	gone, again := forsaken(s, list, r.StaleAfter)
	return again, errors.Join(r.Slices.Remove(ctx, list, policyOf(s.placement), s.epoch), r.Slices.Release(ctx, gone))
}

// forsaken are the slices of clusters without a ManagedCluster whose agent does not renew its lease: it
// will not see to them. An agent that does may be in the middle of it. The duration is what the next of
// their leases has left; 0 when there are none.
func forsaken(s *snapshot, list []*fleetv1alpha1.FleetSlice, threshold time.Duration) (out []*fleetv1alpha1.FleetSlice, again time.Duration) {
	for _, one := range list {
		if _, known := s.clusters[one.Namespace]; known {
			continue
		}
		renewed, reports := s.renewed[one.Namespace]
		if left := renewed.Add(threshold).Sub(s.now); reports && left >= 0 {
			again = steps.Sooner(again, left+time.Millisecond)
			continue
		}
		out = append(out, one)
	}
	return out, again
}

// setFinalizer puts our finalizer on an object, or takes it off, and nothing else.
func (r *Reconciler) setFinalizer(ctx context.Context, object client.Object, wanted bool) error {
	if controllerutil.ContainsFinalizer(object, fleetv1alpha1.CleanupFinalizer) == wanted {
		return nil
	}
	changed, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	if wanted {
		controllerutil.AddFinalizer(changed, fleetv1alpha1.CleanupFinalizer)
	} else {
		controllerutil.RemoveFinalizer(changed, fleetv1alpha1.CleanupFinalizer)
	}
	patch := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
	opts := []client.PatchOption{client.FieldOwner(FieldOwner)}
	if unheld[object.GetObjectKind().GroupVersionKind().GroupKind()] {
		opts = append(opts, client.DisableReadYourWritesConsistency) // no cache will show it
	}
	if err := r.Patch(ctx, changed, patch, opts...); err != nil {
		if !wanted && apierrors.IsNotFound(err) {
			return nil
		}
		if apierrors.IsForbidden(err) {
			return fmt.Errorf("the hub may not set its finalizer on %s: bind a ClusterRole with get, list, watch and patch of its kind to it: %w", object.GetName(), err)
		}
		return fmt.Errorf("setting the finalizer of %s: %w", object.GetName(), err)
	}
	object.SetResourceVersion(changed.GetResourceVersion())
	object.SetFinalizers(changed.GetFinalizers())
	return nil
}

// statusPatch is the difference of one object's status, to be sent.
type statusPatch struct {
	object client.Object
	patch  client.Patch
}

// targetPatches is the difference of a target's status to what its divider makes of the summary, and of the
// status of the object beside it.
func targetPatches(target *unstructured.Unstructured, divider Divider, summary share.Summary) ([]statusPatch, error) {
	status, err := divider.Status(target, summary)
	if err != nil {
		return nil, err
	}
	list, err := appendStatus(nil, target, status)
	if err != nil {
		return nil, err
	}
	return appendCompanion(list, divider, summary)
}

// appendCompanion appends the difference of the status of the object that a divider goes by beside the target.
func appendCompanion(list []statusPatch, divider Divider, summary share.Summary) ([]statusPatch, error) {
	companion, ok := divider.(Companion)
	if !ok {
		return list, nil
	}
	beside, status, err := companion.Companion(summary)
	if err != nil {
		return nil, err
	}
	return appendStatus(list, beside, status)
}

// appendStatus appends the difference of an object's status; a nil status is left as it is.
func appendStatus(list []statusPatch, object *unstructured.Unstructured, status map[string]any) ([]statusPatch, error) {
	if status == nil {
		return list, nil
	}
	changed := object.DeepCopy()
	changed.Object["status"] = status
	return appendPatch(list, object, changed)
}

// statusPatches are the differences of target and placement; empty when there are none.
func (r *Reconciler) statusPatches(s *snapshot, divider Divider, summary share.Summary, status fleetv1alpha1.FleetPlacementStatus) ([]statusPatch, error) {
	var list []statusPatch
	var err error
	switch {
	case s.holder != "":
	case s.target != nil && divider != nil:
		list, err = targetPatches(s.target, divider, summary)
	case s.spread != nil: // it is told why its workload is not divided
		list, err = appendCompanion(nil, r.Spread(nil, s.spread), summary)
	}
	if err != nil {
		return nil, err
	}
	changed := s.placement.DeepCopy()
	changed.Status = status
	return appendPatch(list, s.placement, changed)
}

func appendPatch(list []statusPatch, old, changed client.Object) ([]statusPatch, error) {
	patch := client.MergeFrom(old)
	data, err := patch.Data(changed)
	if err != nil {
		return nil, fmt.Errorf("comparing the status of %s: %w", old.GetName(), err)
	}
	if string(data) == "{}" {
		return list, nil
	}
	return append(list, statusPatch{changed, client.RawPatch(patch.Type(), data)}), nil
}

// writeStatus sends patches. An object that has gone meanwhile is no error.
func (r *Reconciler) writeStatus(ctx context.Context, list []statusPatch) error {
	var errs []error
	for _, one := range list {
		statusWrites.Inc()
		if err := r.Status().Patch(ctx, one.object, one.patch, client.FieldOwner(FieldOwner)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("writing the status of %s: %w", one.object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}
