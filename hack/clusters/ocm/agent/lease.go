// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

// leaseKeeper renews the lease of a cluster. It does so beside the passes, so
// that a member which hangs does not make its agent look dead.
type leaseKeeper struct {
	hub     client.Client
	clock   clock.WithTicker
	cluster string

	mu       sync.Mutex
	duration time.Duration // 0 while the cluster is not accepted
	renewed  time.Time
}

// keep sets how long the lease lasts, and renews it if that is due; with 0 it is not renewed any more.
func (k *leaseKeeper) keep(ctx context.Context, duration time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.duration = duration
	return k.renew(ctx)
}

// run renews the lease in time until the context ends. Failures show in the passes, which renew too.
func (k *leaseKeeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := k.tick(ctx)
		select {
		case <-ctx.Done():
		case <-k.clock.After(wait):
		}
	}
}

func (k *leaseKeeper) tick(ctx context.Context) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.renew(ctx); err != nil || k.duration == 0 {
		return soon
	}
	return k.duration
}

// renew renews the lease when nine tenths of its duration are over; the rest is for late timers.
func (k *leaseKeeper) renew(ctx context.Context) error {
	now := k.clock.Now()
	if k.duration == 0 || now.Sub(k.renewed) < k.duration*9/10 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: identity.Namespace(k.cluster), Name: identity.LeaseName}
	if err := k.hub.Get(ctx, key, lease); err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(k.duration / time.Second))
	if err := k.hub.Update(ctx, lease); err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	k.renewed = now
	return nil
}
