// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

const (
	// reportInterval is the least time between two writes of one slice's status.
	reportInterval = time.Second
	// unsettledInterval is how often a report is made anew while pods are missing or not ready: why
	// they are not is in no event that reaches us.
	unsettledInterval = 5 * time.Second
)

// reporter writes the status of slices.
type reporter struct {
	hub      *connection
	results  *results
	observer observer
	clock    clock.PassiveClock

	mu sync.Mutex
	// written holds the last report of each slice.
	written map[string]written
}

type written struct {
	at      time.Time
	version uint64
	status  *fleetv1alpha1.FleetSliceStatus
}

// Reconcile reports on one slice, if there is news and the last report is old enough.
func (r *reporter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	h, err := r.hub.current()
	if err != nil {
		return reconcile.Result{}, nil // every slice is looked at when the hub is back
	}
	slice, err := h.slice(ctx, req.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if slice == nil {
		r.drop(req.Name)
		return reconcile.Result{}, nil
	}
	status, seen, err := r.compute(ctx, slice)
	if err != nil {
		return reconcile.Result{}, err
	}
	last := r.last(slice)
	if sameReport(last.status, status) {
		if seen.settled(status) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{RequeueAfter: unsettledInterval}, nil
	}
	if wait := reportInterval - r.clock.Since(last.at); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := r.write(ctx, h, slice.Name, status); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: unsettledInterval}, nil
}

// compute makes the report. Until this process knows what applying comes to, the last one stands.
func (r *reporter) compute(ctx context.Context, slice *fleetv1alpha1.FleetSlice) (*fleetv1alpha1.FleetSliceStatus, observation, error) {
	applied, ok := r.results.get(slice.Name, slice.UID)
	if !ok {
		return &slice.Status, observation{}, nil
	}
	var seen observation
	if applied.object.name.Name != "" {
		var err error
		if seen, err = r.observer.observe(ctx, applied.object, applied.spread); err != nil {
			return nil, seen, err
		}
	}
	return statusOf(&slice.Status, applied, seen), seen, nil
}

// last returns the report that stands on the hub: our last one while the cache does not have it yet.
func (r *reporter) last(slice *fleetv1alpha1.FleetSlice) written {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.written[slice.Name]
	if out.status == nil || version(slice) >= out.version {
		out.status = &slice.Status
	}
	return out
}

func (r *reporter) write(ctx context.Context, h *hub, name string, status *fleetv1alpha1.FleetSliceStatus) error {
	after, err := h.report(ctx, name, status)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[name] = written{at: r.clock.Now(), version: version(after), status: status}
	return nil
}

func (r *reporter) drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, name)
}
