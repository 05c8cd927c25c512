// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package stop

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Background carries out stops beside the workers of a controller whose queue holds pods: an instance may take hours to
// end. There is one stop for a pod at most, so that there are no more than the node has pods. Its end wakes the pod. What
// was begun for a pod that is gone is given up, and is nothing to another of its name. It is safe for use by many
// goroutines.
type Background struct {
	// Start runs something beside its caller, with the context of the process; Ended is told the pod of each stop at its
	// end. Source fills both in.
	Start func(run func(context.Context))
	Ended func(pod types.NamespacedName)

	mu   sync.Mutex
	pods map[types.NamespacedName]*work
}

type work struct {
	pod   types.UID
	stage Stage
	err   error
	// dropped says that its pod is gone; cancel is nil before it runs.
	dropped bool
	cancel  context.CancelFunc
}

// Stage is how far what was begun for a pod is.
type Stage int

// The stages.
const (
	// Idle: nothing was begun, or its end is known.
	Idle Stage = iota
	// UnderWay: it goes on.
	UnderWay
	// Over: it has come to its end.
	Over
)

// Source wakes pods whose stop has come to its end. Stops that are under way are given up with ctx.
func (b *Background) Source(ctx context.Context) source.Source {
	ended := make(chan event.GenericEvent)
	b.Start = func(run func(context.Context)) { go run(ctx) }
	b.Ended = func(pod types.NamespacedName) {
		select {
		case ended <- event.GenericEvent{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}}:
		case <-ctx.Done():
		}
	}
	return source.Channel(ended, &handler.EnqueueRequestForObject{})
}

// Look tells how far the pod is that has the name and this UID now; none has it where the UID is empty. That it is over it
// tells once, with the error. What was begun for another pod of the name is given up.
func (b *Background) Look(name types.NamespacedName, pod types.UID) (Stage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.pods[name]
	switch {
	case w == nil:
		return Idle, nil
	case w.pod != pod:
		w.drop()
		delete(b.pods, name)
		return Idle, nil
	case w.stage == Over:
		delete(b.pods, name)
	}
	return w.stage, w.err
}

func (w *work) drop() {
	w.dropped = true
	if w.cancel != nil {
		w.cancel()
	}
}

// Begin carries something out for a pod that has nothing under way, until the pod is known to be gone. Passes of one name
// follow one another, so that nothing comes between a look and this, which must be at the same pod.
func (b *Background) Begin(name types.NamespacedName, pod types.UID, carryOut func(context.Context) error) {
	w := &work{pod: pod, stage: UnderWay}
	b.mu.Lock()
	if b.pods == nil {
		b.pods = map[types.NamespacedName]*work{}
	}
	b.pods[name] = w
	b.mu.Unlock()
	b.Start(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		b.mu.Lock()
		if w.cancel = cancel; w.dropped {
			cancel()
		}
		b.mu.Unlock()
		err := guarded(ctx, carryOut)
		b.mu.Lock()
		w.stage, w.err = Over, err
		b.mu.Unlock()
		b.Ended(name)
	})
}

// guarded turns a panic into an error, as controllers do: one pod's hook must not end the agent, which would meet it
// again at its next start.
func guarded(ctx context.Context, carryOut func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			log.FromContext(ctx).Error(err, "Panic of a stop", "stack", string(debug.Stack()))
		}
	}()
	return carryOut(ctx)
}
