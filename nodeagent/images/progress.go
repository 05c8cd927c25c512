// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// lookEvery is how often a pull under way is looked at.
const lookEvery = 3 * time.Second

// Progressor is a Runtime that may tell how far it is with a pull.
type Progressor interface {
	// Progress looks at what was fetched of the image's repository since then; the error is cri.ErrUnsupported when it
	// cannot tell.
	Progress(ctx context.Context, image string, since time.Time) (cri.Fetched, error)
}

// watch shows how far a pull is, until what it returns is called. That waits for the last look.
func (w *worker) watch(ctx context.Context, runtime Runtime, image string) (stop func()) {
	teller, ok := runtime.(Progressor)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	since := w.puller.Now()
	timer := time.AfterFunc(lookEvery, func() { // most pulls are through before, and need no goroutine
		defer close(done)
		for w.look(ctx, teller, image, since) && sleep(ctx, lookEvery) {
		}
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-done
		}
	}
}

// look shows how far a pull is now, and returns whether it makes sense to look again.
func (w *worker) look(ctx context.Context, teller Progressor, image string, since time.Time) bool {
	if !w.puller.looking.TryLock() { // a look goes through all blobs: many pulls take turns
		return true
	}
	at, err := w.ask(ctx, teller, image, since)
	if percent, known := at.Percent(); err == nil && known {
		w.change(func() { w.status.Progress = max(w.status.Progress, percent) })
	}
	return !errors.Is(err, cri.ErrUnsupported)
}

// ask holds the turn that was had. A panic, of which what a registry wrote may be the cause, costs the progress of this
// pull alone.
func (w *worker) ask(ctx context.Context, teller Progressor, image string, since time.Time) (at cri.Fetched, err error) {
	defer w.puller.looking.Unlock()
	defer func() {
		if p := recover(); p != nil {
			log.FromContext(ctx).Error(nil, "Panic of a look at a pull", "image", image, "panic", p, "stack", string(debug.Stack()))
			at, err = cri.Fetched{}, cri.ErrUnsupported
		}
	}()
	return teller.Progress(ctx, image, since)
}
