// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Agent speaks for one cluster. Run it once.
type Agent struct {
	cfg    Config
	clock  clock.WithTicker
	log    logr.Logger
	wake   chan struct{}
	admin  client.Client // with the hub credentials it was started with: to join
	hub    client.Client // as the cluster's agent
	lease  *leaseKeeper
	member *member

	joined   bool
	accepted bool
	failures int    // checks of the member failed in a row
	said     string // the last problem logged
}

// New makes an agent. It talks to nobody yet; an error means that a configuration cannot be used.
func New(cfg Config) (*Agent, error) {
	a := &Agent{cfg: cfg, clock: cfg.Clock, wake: make(chan struct{}, 1)}
	if a.clock == nil {
		a.clock = clock.RealClock{}
	}
	a.log = log.Log.WithName("agent").WithValues("cluster", cfg.Cluster)
	var err error
	options := client.Options{Scheme: newScheme()}
	if a.admin, err = client.New(bounded(cfg.Hub), options); err != nil {
		return nil, fmt.Errorf("hub of %s: %w", cfg.Cluster, err)
	}
	if a.hub, err = client.New(as(cfg.Hub, cfg.Cluster), options); err != nil {
		return nil, fmt.Errorf("hub of %s: %w", cfg.Cluster, err)
	}
	a.lease = &leaseKeeper{hub: a.hub, clock: a.clock, cluster: cfg.Cluster}
	if a.member, err = newMember(cfg, a.notify); err != nil {
		return nil, fmt.Errorf("member %s: %w", cfg.Cluster, err)
	}
	return a, nil
}

// Run works until the context ends. What fails is logged, once, and tried again.
func (a *Agent) Run(ctx context.Context) {
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() { a.lease.run(ctx) })
	for ctx.Err() == nil {
		wait, err := a.pass(ctx)
		a.say(ctx, err)
		timer := a.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-a.wake:
			a.pause(ctx)
		}
		timer.Stop()
	}
}

// notify asks for a pass soon; it never blocks.
func (a *Agent) notify() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// pause lets changes that come in a burst settle.
func (a *Agent) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-a.clock.After(settle):
	}
}

func (a *Agent) say(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err == nil && a.said != "":
		a.said = ""
		a.log.Info("All is well again")
	case err != nil && a.said != err.Error():
		a.said = err.Error()
		a.log.Info("Something fails and is tried again", "problem", a.said)
	}
}

// pass does all there is to do now and says when the next is due.
func (a *Agent) pass(ctx context.Context) (time.Duration, error) {
	cluster, err := a.join(ctx)
	if apierrors.IsNotFound(err) {
		err = errors.Join(err, a.lease.keep(ctx, 0))
	}
	if err != nil {
		return soon, err
	}
	if cluster.DeletionTimestamp != nil || !a.accepted {
		return soon, a.lease.keep(ctx, 0)
	}
	duration := leaseDuration(cluster)
	wait := min(duration, longestHeartbeat)
	if err := a.lease.keep(ctx, duration); err != nil {
		return min(wait, soon), err
	}
	observed, problem := a.member.observe(ctx)
	a.failures = observed.countFailures(a.failures)
	if err := a.report(ctx, cluster, observed); err != nil {
		return min(wait, soon), err
	}
	if problem != nil {
		wait = min(wait, soon)
	}
	return wait, problem
}
