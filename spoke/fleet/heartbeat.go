// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

const (
	// leaseFactor is how many intervals a renewal is good for.
	leaseFactor = 4
	// outage is how many intervals without a renewal make an outage.
	outage = 2
	// retryInterval is how soon a failed renewal is tried again.
	retryInterval = 2 * time.Second
)

// heartbeat renews the Lease by which the hub sees that this cluster's reports are fresh.
type heartbeat struct {
	client    client.Client
	namespace string
	interval  time.Duration
	clock     clock.WithTicker
}

// errReturned ends a session when the hub is back after having been away: a new session reads
// everything anew at once, while watches would wait out their back-off.
var errReturned = errors.New("the hub was away and is back")

// run renews until the context ends. A renewal that failed is tried again sooner; the first one that
// succeeds after an outage ends the session.
func (b *heartbeat) run(ctx context.Context, end context.CancelCauseFunc) {
	logger := log.FromContext(ctx)
	var renewed, failing time.Time
	for {
		wait := b.interval
		last, err := b.beat(ctx, renewed)
		now := b.clock.Now()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if failing.IsZero() {
				failing = now
				logger.Info("the hub is away: its Lease was not renewed", "error", err.Error())
			}
			wait = min(b.interval, retryInterval)
		case !failing.IsZero() && !last.IsZero() && now.Sub(last) > outage*b.interval:
			end(errReturned)
			return
		default:
			renewed, failing = now, time.Time{}
		}
		select {
		case <-ctx.Done():
			return
		case <-b.clock.After(wait):
		}
	}
}

// beat renews the Lease. It returns when the Lease was renewed before, zero if never: renewed, or what the
// Lease says when this session has not renewed it yet.
func (b *heartbeat) beat(ctx context.Context, renewed time.Time) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.interval)
	defer cancel()
	if renewed.IsZero() {
		lease := &coordinationv1.Lease{}
		err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: fleetv1alpha1.AddOnName}, lease)
		if client.IgnoreNotFound(err) != nil {
			return time.Time{}, err
		}
		if lease.Spec.RenewTime != nil {
			renewed = lease.Spec.RenewTime.Time
		}
	}
	return renewed, b.renew(ctx, renewed)
}

// renew writes the present time into the Lease, and makes the Lease if there is none. When the Lease had run
// out it also says that the agent is back since now: until it reported, the hub believes no counter.
func (b *heartbeat) renew(ctx context.Context, last time.Time) error {
	now := metav1.NewMicroTime(b.clock.Now())
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       &b.namespace,
		LeaseDurationSeconds: ptr.To(int32(leaseFactor * b.interval / time.Second)),
		RenewTime:            &now,
	}
	if !last.IsZero() && now.Sub(last) > leaseFactor*b.interval {
		spec.AcquireTime = &now
	}
	change, err := json.Marshal(map[string]coordinationv1.LeaseSpec{"spec": spec})
	if err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fleetv1alpha1.AddOnName}, Spec: spec}
	err = b.client.Patch(ctx, lease.DeepCopy(), client.RawPatch(types.MergePatchType, change), client.FieldOwner(agentOwner))
	if apierrors.IsNotFound(err) {
		err = b.client.Create(ctx, lease, client.FieldOwner(agentOwner))
	}
	return err
}
