// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// result is where a probe stands, with the times that belong to it.
type result struct {
	key
	machine
	// since is when the state began, probed when the probe last ran; zero for never.
	since, probed time.Time
}

// pool has a worker for each target, and what they found.
type pool struct {
	// run probes once.
	run func(context.Context, *target) outcome
	now func() time.Time
	// start is when the agent started.
	start time.Time
	// room bounds how many probes run at once.
	room *room
	// changed has a token in it when a state or a message changed.
	changed chan struct{}

	mu      sync.Mutex
	workers map[key]*worker
	results map[key]result
}

func newPool(run func(context.Context, *target) outcome, now func() time.Time, limit int) *pool {
	return &pool{
		run: run, now: now, start: now(), room: newRoom(limit), changed: make(chan struct{}, 1),
		workers: map[key]*worker{}, results: map[key]result{},
	}
}

// sync makes the workers those of the targets. New ones go on from the stored states, and run until they are no
// target any more or ctx, which must be that of the process, ends.
func (p *pool) sync(ctx context.Context, targets map[key]target, stored map[key]v1alpha1.ContainerProbeState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, w := range p.workers {
		if _, wanted := targets[k]; !wanted {
			w.cancel()
			delete(p.workers, k)
			delete(p.results, k)
		}
	}
	for k, t := range targets {
		if w := p.workers[k]; w != nil {
			w.aim(t)
			continue
		}
		p.begin(ctx, t, stored[k])
	}
	workersGauge.Set(float64(len(p.workers)))
}

// begin starts a worker. Agents of many nodes may start at once, and all workers of one do: so they spread out.
func (p *pool) begin(ctx context.Context, t target, stored v1alpha1.ContainerProbeState) {
	var own context.Context
	w := &worker{pool: p, wake: make(chan struct{}, 1), target: t, handler: t.probe.ProbeHandler}
	own, w.cancel = context.WithCancel(ctx)
	if stored.State != "" {
		w.machine = machine{instance: stored.ContainerID, state: stored.State, message: stored.Message}
		p.results[t.key] = result{t.key, w.machine, stored.LastTransitionTime.Time, stored.LastProbeTime.Time}
	}
	p.workers[t.key] = w
	var pause time.Duration
	if period := seconds(t.probe.PeriodSeconds); p.now().Sub(p.start) < period {
		pause = rand.N(period) //nolint:gosec // it need not be unforeseeable
	}
	go w.run(own, pause)
}

// publish takes in where a probe stands, unless its worker was told to end.
func (p *pool) publish(ctx context.Context, k key, m machine, probed time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil || m.state == "" {
		return
	}
	old := p.results[k]
	r := result{k, m, old.since, probed}
	if probed.IsZero() {
		r.probed = old.probed
	}
	if old.state != m.state {
		r.since = p.now()
	}
	p.results[k] = r
	if old.state != m.state || old.message != m.message || old.machine.instance != m.instance {
		select {
		case p.changed <- struct{}{}:
		default: // somebody will look already
		}
	}
}

// found returns a copy of the results.
func (p *pool) found() map[key]result {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[key]result, len(p.results))
	for k, r := range p.results {
		out[k] = r
	}
	return out
}
