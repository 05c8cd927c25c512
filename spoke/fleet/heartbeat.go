// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
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
		now := b.clock.Now()
		switch err := b.renew(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			if failing.IsZero() {
				failing = now
				logger.Info("the hub is away: its Lease was not renewed", "error", err.Error())
			}
			wait = min(b.interval, retryInterval)
		case !renewed.IsZero() && !failing.IsZero() && now.Sub(renewed) > outage*b.interval:
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

// renew writes the present time into the Lease, and makes the Lease if there is none.
func (b *heartbeat) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.interval)
	defer cancel()
	now := metav1.NewMicroTime(b.clock.Now())
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fleetv1alpha1.AddOnName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &b.namespace,
			LeaseDurationSeconds: ptr.To(int32(leaseFactor * b.interval / time.Second)),
			RenewTime:            &now,
		},
	}
	text, err := now.MarshalJSON()
	if err != nil {
		return err
	}
	change := fmt.Sprintf(`{"spec":{"renewTime":%s,"leaseDurationSeconds":%d,"holderIdentity":%q}}`, text, *lease.Spec.LeaseDurationSeconds, b.namespace)
	err = b.client.Patch(ctx, lease.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(change)), client.FieldOwner(agentOwner))
	if apierrors.IsNotFound(err) {
		err = b.client.Create(ctx, lease, client.FieldOwner(agentOwner))
	}
	return err
}
