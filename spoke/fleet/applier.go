// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

const (
	// passTimeout bounds one pass over one slice.
	passTimeout = time.Minute
	// refusedRetry is how soon something that was refused, is in conflict, or is in a namespace that is
	// being deleted, is tried again.
	refusedRetry = 30 * time.Second
	// waitingRetry is how soon it is looked again whether a controller has taken up what was written.
	waitingRetry = 200 * time.Millisecond
)

// applier brings the member's objects to what the slices say.
type applier struct {
	hub       *connection
	members   *members
	inventory *inventory
	results   *results
	events    events.Publisher
	// watch makes sure that changes of a kind's objects are seen.
	watch func(schema.GroupVersionKind) error
	// report asks for a slice's status to be looked at.
	report func(slice string)
}

// Reconcile makes one pass over one slice.
func (a *applier) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	h, err := a.hub.current()
	if err != nil {
		return reconcile.Result{}, nil // every slice is looked at when the hub is back
	}
	slice, err := h.slice(ctx, req.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if slice == nil {
		a.results.drop(req.Name)
		return reconcile.Result{}, nil // objects whose slice is gone are the sweeper's
	}
	if slice.DeletionTimestamp != nil {
		return a.conclude(ctx, slice, firstOf(slice), a.takeBack(ctx, h, slice))
	}
	r, err := a.apply(ctx, h, slice)
	return a.conclude(ctx, slice, r, err)
}

// conclude keeps the result for the report and says when to try again.
func (a *applier) conclude(ctx context.Context, slice *fleetv1alpha1.FleetSlice, r result, err error) (reconcile.Result, error) {
	r.uid, r.generation, r.reason = slice.UID, slice.Generation, reasonOf(err)
	if err != nil {
		r.message = err.Error()
	}
	if slice.DeletionTimestamp != nil && err == nil {
		return reconcile.Result{}, nil
	}
	if a.results.put(slice.Name, r) {
		a.report(slice.Name)
	}
	var waiting waitingError
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case errors.As(err, &waiting):
		return reconcile.Result{RequeueAfter: waitingRetry}, nil
	case r.reason == fleetv1alpha1.SliceReasonRetrying && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, err
	default:
		log.FromContext(ctx).Info("not applied", "reason", r.reason, "message", r.message)
		return reconcile.Result{RequeueAfter: refusedRetry}, nil
	}
}

// firstOf is a result that knows only which object is reported on.
func firstOf(slice *fleetv1alpha1.FleetSlice) result {
	targets, err := compose(slice)
	if err != nil {
		return result{}
	}
	return result{object: keyFor(targets[0].base)}
}

// apply brings every object of the slice to the slice, the first one last, then takes back those it lists
// no more.
func (a *applier) apply(ctx context.Context, h *hub, slice *fleetv1alpha1.FleetSlice) (result, error) {
	targets, err := compose(slice)
	if err != nil {
		return result{}, err
	}
	if err := a.know(ctx, slice.Spec.Epoch, targets); err != nil {
		return result{}, err
	}
	r := result{object: keyFor(targets[0].base)}
	if slices.ContainsFunc(targets[1:], func(t *target) bool { return isWorkloadSpread(t.base.GroupVersionKind()) }) {
		if err := a.mayTake(ctx, h, slice, targets[0]); err != nil {
			return r, err
		}
	}
	var errs []error
	holds := false
	for _, t := range targets[1:] {
		live, err := a.applyOne(ctx, h, slice, t)
		if isWorkloadSpread(t.base.GroupVersionKind()) {
			r.spread = keyFor(t.base)
			err = cmp.Or(err, takenUp(live))
			holds = holds || err != nil
		}
		errs = append(errs, err)
	}
	if !holds {
		live, err := a.applyOne(ctx, h, slice, targets[0])
		if live != nil {
			r.objectGeneration = live.GetGeneration()
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return r, err
	}
	return r, a.dropUnlisted(ctx, slice, targets)
}

// know notes epoch and kinds and watches the kinds, before anything is written. Kinds that are not
// served, or that we have no right to, are left out: applyOne says so, and nothing of them is written.
func (a *applier) know(ctx context.Context, epoch int64, targets []*target) error {
	var kinds []schema.GroupVersionKind
	for _, t := range targets {
		if kind := t.base.GroupVersionKind(); a.mayHave(ctx, kind) == nil {
			kinds = append(kinds, kind)
		}
	}
	if err := a.inventory.note(ctx, epoch, kinds...); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := a.watch(kind); err != nil {
			return fmt.Errorf("watching %s: %w", kind.Kind, err)
		}
	}
	return nil
}

// mayHave tells why objects of the kind cannot be had here; nil when they can.
func (a *applier) mayHave(ctx context.Context, kind schema.GroupVersionKind) error {
	if _, err := a.members.mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return err
	}
	return a.members.mayRead(ctx, kind)
}

// applyOne brings one object to its target and returns it as it then is. Errors name the object.
func (a *applier) applyOne(ctx context.Context, h *hub, slice *fleetv1alpha1.FleetSlice, t *target) (*unstructured.Unstructured, error) {
	live, err := a.bring(ctx, h, slice, t)
	var conflict conflictError
	if err == nil || errors.As(err, &conflict) {
		return live, err
	}
	return live, fmt.Errorf("%s: %w", describe(t.base), err)
}

func (a *applier) bring(ctx context.Context, h *hub, slice *fleetv1alpha1.FleetSlice, t *target) (*unstructured.Unstructured, error) {
	if err := a.mayHave(ctx, t.base.GroupVersionKind()); err != nil {
		return nil, err
	}
	live, err := a.members.live(ctx, t.base)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return a.send(ctx, t.create(), nil)
	}
	if live.GetDeletionTimestamp() != nil {
		return nil, errors.New("being deleted; it is made anew when it is gone")
	}
	free, err := a.claim(ctx, h, slice, t, live)
	if err != nil {
		return nil, err
	}
	if free {
		return a.adopt(ctx, slice, t, live)
	}
	holds := a.members.applier.Holds(t.base, live, fleetv1alpha1.TemplateFieldOwner)
	return a.send(ctx, t.update(live, holds), live)
}

// mayTake tells why the object cannot be ours; nil when it is, can be, or is not there. A WorkloadSpread must not
// come to a workload of somebody else.
func (a *applier) mayTake(ctx context.Context, h *hub, slice *fleetv1alpha1.FleetSlice, t *target) error {
	err := a.mayHave(ctx, t.base.GroupVersionKind())
	if err != nil {
		return fmt.Errorf("%s: %w", describe(t.base), err)
	}
	live, err := a.members.live(ctx, t.base)
	if err != nil || live == nil {
		return err
	}
	_, err = a.claim(ctx, h, slice, t, live)
	return err
}

func (a *applier) send(ctx context.Context, requests []request, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for _, r := range requests {
		after, err := a.members.send(ctx, r, live)
		if err != nil {
			return live, err
		}
		live = after
	}
	return live, nil
}

// claim makes sure that the object is ours, or free to be adopted.
func (a *applier) claim(ctx context.Context, h *hub, slice *fleetv1alpha1.FleetSlice, t *target, live *unstructured.Unstructured) (free bool, err error) {
	var asking error
	claim, why := claimOf(slice, live, func(label string) bool {
		other, err := h.slice(ctx, label)
		asking = err
		return other != nil
	})
	if asking != nil {
		return false, asking
	}
	switch claim {
	case claimOurs:
		return false, nil
	case claimFree:
		return true, nil
	case claimIfEqual:
		if why, err = a.wouldChange(ctx, t, live); err != nil || why == "" {
			return err == nil, err
		}
	case claimDenied:
	}
	a.events.Publish(conflicted(live, why))
	return false, conflictError{why}
}

// wouldChange tries the template out and says what but numbers it would change; "" when nothing.
func (a *applier) wouldChange(ctx context.Context, t *target, live *unstructured.Unstructured) (string, error) {
	applied := t.base.DeepCopy()
	err := a.members.direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied),
		client.FieldOwner(fleetv1alpha1.TemplateFieldOwner), client.ForceOwnership, client.DryRunAll)
	if err != nil {
		return "", fmt.Errorf("trying out the adoption: %w", err)
	}
	if fields := differences(live, applied); len(fields) > 0 {
		return conflictText(live, fields), nil
	}
	return "", nil
}

// dropUnlisted takes back our objects that the slice lists no more.
func (a *applier) dropUnlisted(ctx context.Context, slice *fleetv1alpha1.FleetSlice, targets []*target) error {
	_, kinds, err := a.inventory.read(ctx)
	if err != nil {
		return err
	}
	ours, err := a.members.listOurs(ctx, kinds, slice.Name)
	if err != nil {
		return err
	}
	ours = slices.DeleteFunc(ours, func(obj unstructured.Unstructured) bool {
		return slices.ContainsFunc(targets, func(t *target) bool { return sameObject(t.base, &obj) })
	})
	if len(ours) == 0 {
		return nil
	}
	if err := a.mayDelete(ctx, slice); err != nil {
		return err
	}
	var errs []error
	for i := range ours {
		errs = append(errs, a.letGo(ctx, slice, &ours[i]))
	}
	return errors.Join(errs...)
}

// sameObject compares group, kind, namespace and name.
func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() &&
		a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}
