// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// worker looks after one probe. Only its own goroutine touches the machine.
type worker struct {
	pool   *pool
	cancel context.CancelFunc
	// wake tells that the target changed.
	wake chan struct{}

	mu     sync.Mutex
	target target

	machine machine
	handler corev1.ProbeHandler
	last    lastRun
}

// aim gives the worker what its target is now.
func (w *worker) aim(t target) {
	w.mu.Lock()
	same := w.target.view == t.view && equality.Semantic.DeepEqual(&w.target.probe, &t.probe)
	w.target = t
	w.mu.Unlock()
	if !same {
		select {
		case w.wake <- struct{}{}:
		default: // it is about to look anyway
		}
	}
}

func (w *worker) aimed() target {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.target
}

// run probes until ctx ends, after a pause.
func (w *worker) run(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	for {
		timer.Reset(w.look(ctx))
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// look looks at the container once, probes it when it is time, and returns how long until the next look.
func (w *worker) look(ctx context.Context) (wait time.Duration) {
	t := w.aimed()
	defer func() {
		if p := recover(); p != nil {
			log.FromContext(ctx).Error(nil, "Panic of a probe", "pod", t.pod, "probe", t.key.probe, "panic", p, "stack", string(debug.Stack()))
			wait = seconds(t.probe.PeriodSeconds)
		}
	}()
	if !equality.Semantic.DeepEqual(w.handler, t.probe.ProbeHandler) {
		w.handler, w.machine, w.last = t.probe.ProbeHandler, w.machine.forget(), lastRun{}
	}
	seen, due, wait := schedule(t.view, &t.probe, w.last, w.pool.now())
	if due {
		begun, ok := w.probe(ctx, &t, &seen)
		if !ok {
			return wait
		}
		wait = max(wait-w.pool.now().Sub(begun), 0)
	}
	w.machine = w.machine.next(t.key, &t.probe, seen)
	w.pool.publish(ctx, t.key, w.machine, w.last.at)
	return wait
}

// probe runs the probe when there is room, and tells when it began; not ok when ctx ended before.
func (w *worker) probe(ctx context.Context, t *target, seen *observation) (begun time.Time, ok bool) {
	begun = w.pool.now() // what waits for room keeps its pace
	leave, ok := w.pool.room.enter(ctx, t.pod.Namespace)
	if !ok {
		return begun, false
	}
	defer leave()
	w.last = lastRun{instance: t.view.instance, at: begun}
	result := w.pool.run(ctx, t)
	*seen = result.observed(t.view.instance)
	probesTotal.WithLabelValues(t.kind(), seen.sight.String()).Inc()
	return begun, true
}
