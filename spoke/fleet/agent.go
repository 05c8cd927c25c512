// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// agent keeps the connection to the hub. A session is one connection; it ends with the process, or
// when the hub's address or credentials change, and then the next one begins.
type agent struct {
	options    Options
	clock      clock.WithTicker
	connection *connection
	// spread asks for everything a slice concerns to be looked at.
	spread  func(slice string)
	sweeper *sweeper
}

// NeedLeaderElection: one agent acts for a cluster.
func (a *agent) NeedLeaderElection() bool { return true }

// Start runs sessions until the context ends. It never fails: a hub that cannot be reached is tried
// for ever.
func (a *agent) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("fleet").WithValues("cluster", a.options.ClusterName)
	ctx = log.IntoContext(ctx, logger)
	backoff := newBackoff()
	for ctx.Err() == nil {
		began := a.clock.Now()
		err := a.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if a.clock.Since(began) > time.Minute || errors.Is(err, errChanged) || errors.Is(err, errReturned) {
			backoff = newBackoff()
		}
		pause := backoff.Step()
		logger.Info("the session with the hub ended", "error", fmt.Sprint(err), "next", pause.String())
		select {
		case <-ctx.Done():
		case <-a.clock.After(pause):
		}
	}
	return nil
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 9, Cap: 20 * time.Second}
}

// errChanged ends a session whose credentials are no longer the ones on file.
var errChanged = errors.New("the hub's kubeconfig has changed")

// session connects, fills the cache, and then lasts until the context ends or the credentials change.
func (a *agent) session(ctx context.Context) error {
	to, err := a.options.hub()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	remote, err := connect(to.config, a.options.ClusterName)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	defer a.connection.Store(nil)
	running.Go(func() {
		if err := remote.Start(ctx); err != nil {
			cancel(err)
		}
	})
	running.Go(func() { to.watch(ctx, cancel) })
	beat := &heartbeat{client: remote.GetClient(), namespace: a.options.ClusterName, interval: a.options.HeartbeatInterval, clock: a.clock}
	running.Go(func() { beat.run(ctx, cancel) })
	if err := a.follow(ctx, remote); err != nil {
		return err
	}
	log.FromContext(ctx).Info("connected to the hub")
	a.sweeper.run(ctx)
	return context.Cause(ctx)
}

// follow fills the cache and hands every slice, and every later change, to the controllers.
func (a *agent) follow(ctx context.Context, remote cluster.Cluster) error {
	informer, err := remote.GetCache().GetInformer(ctx, &fleetv1alpha1.FleetSlice{})
	if err != nil {
		return fmt.Errorf("reading slices: %w", context.Cause(ctx))
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.spread(nameOf(obj)) },
		DeleteFunc: func(obj any) { a.spread(nameOf(obj)) },
		UpdateFunc: func(before, after any) {
			if relevant(before.(client.Object), after.(client.Object)) {
				a.spread(nameOf(after))
			}
		},
	})
	if err != nil {
		return err
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return context.Cause(ctx)
	}
	h := &hub{namespace: a.options.ClusterName, client: remote.GetClient(), cached: remote.GetCache()}
	a.connection.Store(h)
	var all fleetv1alpha1.FleetSliceList
	if err := h.cached.List(ctx, &all, client.InNamespace(h.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range all.Items {
		a.spread(all.Items[i].Name)
	}
	return nil
}

// relevant tells whether a change of a slice concerns us: our own reports do not.
func relevant(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
		len(before.GetFinalizers()) != len(after.GetFinalizers())
}

func nameOf(obj any) string {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if o, ok := obj.(client.Object); ok {
		return o.GetName()
	}
	return ""
}
