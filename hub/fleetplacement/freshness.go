// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Freshness watches the agents' leases and tells when a cluster turns stale or fresh. Renewals in
// between wake up no placement.
type Freshness struct {
	// Reader reads leases from the cache.
	Reader client.Reader
	// Clock of this process.
	Clock clock.PassiveClock
	// StaleAfter is how old a lease may be.
	StaleAfter time.Duration
	// Turned is told a cluster whose state turned.
	Turned func(ctx context.Context, cluster string)

	mu    sync.Mutex
	fresh map[string]bool
}

// Reconcile looks at one cluster's lease.
func (f *Freshness) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	lease := &coordinationv1.Lease{}
	err := f.Reader.Get(ctx, req.NamespacedName, lease)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	left := f.left(lease)
	if f.turn(req.Namespace, left > 0, apierrors.IsNotFound(err)) {
		f.Turned(ctx, req.Namespace)
	}
	return reconcile.Result{RequeueAfter: max(left, 0)}, nil
}

// left is how long the lease stays fresh; 0 or less when it is not.
func (f *Freshness) left(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.RenewTime == nil || settling(lease) {
		return 0
	}
	// One millisecond more: a lease exactly as old as is allowed still counts as fresh.
	return lease.Spec.RenewTime.Add(f.StaleAfter + time.Millisecond).Sub(f.Clock.Now())
}

// settleShare is the part of a lease's duration that an agent has, after it was out of touch, to read its slices
// and to report. It is less than what passes between two renewals.
const settleShare = 8

// settling tells that the agent has come back so lately that its counters may be those of before. Its lease
// says since when it is back, so that a hub which was away as well knows it too.
func settling(lease *coordinationv1.Lease) bool {
	spec := lease.Spec
	if spec.AcquireTime == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	duration := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	return spec.RenewTime.Sub(spec.AcquireTime.Time) < duration/settleShare
}

// turn remembers a cluster's state and tells whether it is news. A cluster seen for the first time is
// news too: a placement may have looked a moment before it turned.
func (f *Freshness) turn(cluster string, fresh, gone bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fresh == nil {
		f.fresh = map[string]bool{}
	}
	before, known := f.fresh[cluster]
	if gone {
		delete(f.fresh, cluster)
	} else {
		f.fresh[cluster] = fresh
	}
	stale := 0
	for _, ok := range f.fresh {
		if !ok {
			stale++
		}
	}
	staleClusters.Set(float64(stale))
	return !known || gone || before != fresh
}
