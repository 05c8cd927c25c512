// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"time"

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
	go func() {
		defer close(done)
		for sleep(ctx, lookEvery) {
			at, err := teller.Progress(ctx, image, since)
			if errors.Is(err, cri.ErrUnsupported) {
				return
			}
			if percent, known := at.Percent(); known { // after an error it is not
				w.change(func() { w.status.Progress = max(w.status.Progress, percent) })
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
