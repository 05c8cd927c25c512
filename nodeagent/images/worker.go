// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// Pauses between attempts double from the first to the last.
const firstPause, lastPause = time.Second, 30 * time.Second

// worker pulls one version of one tag.
type worker struct {
	puller *Puller
	cancel context.CancelFunc
	// placed says that it has one of the puller's places; run's goroutine alone looks at it.
	placed bool

	mu     sync.Mutex
	order  Order
	status v1beta1.ImageTagStatus
}

// run waits for its first turn, pulls, and notes the outcome. A worker that was stopped notes nothing more.
func (w *worker) run(ctx context.Context) {
	defer w.leave()
	if w.enter(ctx) != nil {
		return
	}
	began := w.begin()
	id, err := w.pull(ctx, began)
	if ctx.Err() != nil {
		return
	}
	w.end(began, id, err)
}

// enter waits for a place, where there is a bound. Who waits longest gets the next one: a channel serves its senders in
// their order.
func (w *worker) enter(ctx context.Context) error {
	if w.placed || w.puller.places == nil {
		return nil
	}
	select {
	case w.puller.places <- struct{}{}:
		w.placed = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the place back, if it has one.
func (w *worker) leave() {
	if w.placed {
		w.placed = false
		<-w.puller.places
	}
}

// begin shows the tag as being pulled, before anything that takes long.
func (w *worker) begin() time.Time {
	now := w.puller.Now()
	began := now
	w.change(func() {
		if !w.order.Began.IsZero() && w.order.Began.Before(now) { // one ahead is of a clock that was set back since
			began = w.order.Began
		}
		at := metav1.NewTime(began).Rfc3339Copy()
		w.status.Phase, w.status.StartTime = v1beta1.ImagePhasePulling, &at
	})
	return began
}

func (w *worker) end(began time.Time, id string, err error) {
	order := w.current()
	now := w.puller.Now()
	w.change(func() {
		at := metav1.NewTime(now).Rfc3339Copy()
		w.status.CompletionTime, w.status.Message = &at, ""
		if err != nil {
			w.status.Phase, w.status.Message = v1beta1.ImagePhaseFailed, short(err.Error())
			return
		}
		w.status.Phase, w.status.Progress, w.status.ImageID = v1beta1.ImagePhaseSucceeded, 100, id
	})
	if err != nil {
		pulls.WithLabelValues("failed").Inc()
		w.puller.Events.Publish(failed(w.puller.Node, order, err)...)
		return
	}
	pulls.WithLabelValues("succeeded").Inc()
	w.puller.Events.Publish(succeeded(w.puller.Node, order, now.Sub(began)))
}

// pull makes attempts until one succeeds or none is left. It returns how the image is called.
func (w *worker) pull(ctx context.Context, began time.Time) (string, error) {
	pause := firstPause
	for attempts := 0; ; {
		order := w.current()
		id, err := w.attempt(ctx, order, began)
		switch {
		case err == nil || ctx.Err() != nil:
			return id, err
		case errors.Is(err, errDeadline):
			return "", err
		case errors.Is(err, errRuntimeLost): // the next attempt waits for it, once the loss is noticed
			sleep(ctx, lostPause)
			continue
		}
		if attempts++; attempts > w.current().Retries {
			return "", err
		}
		w.change(func() { w.status.Message = short(fmt.Sprintf("attempt %d failed: %v", attempts, err)) })
		if !sleep(ctx, pause) {
			return "", ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

var (
	errDeadline    = errors.New(v1beta1.ImageDeadlineMessage)
	errRuntimeLost = errors.New("the container runtime went away")
)

// attempt waits for the runtime and a place and tries once, with every credential that fits. Nothing else is done with a
// place: pauses and outages of one tag keep no other waiting.
func (w *worker) attempt(ctx context.Context, order Order, began time.Time) (string, error) {
	bounded := ctx
	if order.Deadline > 0 {
		left := began.Add(order.Deadline).Sub(w.puller.Now())
		if left <= 0 {
			return "", errDeadline
		}
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeoutCause(ctx, left, errDeadline)
		defer cancel()
	}
	runtime, err := w.turn(bounded)
	defer w.leave()
	if err == nil {
		timeout := fmt.Errorf("pulling image %s is canceled: it did not end within %s", order, order.Timeout)
		tried, cancel := context.WithTimeoutCause(bounded, order.Timeout, timeout)
		defer cancel()
		bounded = tried
		var id string
		if id, err = w.once(tried, runtime, order); err == nil {
			return id, nil
		}
	}
	if bounded.Err() != nil {
		return "", context.Cause(bounded)
	}
	return "", err
}

// turn returns the runtime, with a place.
func (w *worker) turn(ctx context.Context) (Runtime, error) {
	for {
		if err := w.enter(ctx); err != nil {
			return nil, err
		}
		runtime, err := w.puller.Runtime.Current()
		if err == nil {
			return runtime, nil
		}
		w.leave()
		if err := w.await(ctx, err); err != nil {
			return nil, err
		}
	}
}

// await waits for the runtime and shows why there is none.
func (w *worker) await(ctx context.Context, why error) error {
	said := ""
	w.change(func() {
		said = w.status.Message
		w.status.Message = short("waits: " + why.Error())
	})
	_, err := w.puller.Runtime.Await(ctx)
	if err == nil {
		w.change(func() { w.status.Message = said })
	}
	return err
}

func (w *worker) once(ctx context.Context, runtime Runtime, order Order) (string, error) {
	image := order.String()
	if !order.Always {
		id, err := runtime.ImageID(ctx, image)
		if err != nil || id != "" {
			return imageID(order, id), w.judge(ctx, runtime, err)
		}
	}
	auths, err := w.puller.Credentials.For(ctx, order.Image, order.Secrets)
	if err != nil {
		return "", err
	}
	tries := make([]*cri.Auth, 0, max(1, len(auths)))
	for i := range auths {
		tries = append(tries, &auths[i])
	}
	if len(tries) == 0 {
		tries = append(tries, nil) // as nobody
	}
	var words []string
	for _, auth := range tries {
		stop := w.watch(ctx, runtime, image)
		_, err := runtime.PullImage(ctx, cri.Pull{
			Image: image, Auth: auth, Labels: order.Sandbox.Labels, Annotations: annotations(order.Sandbox.Annotations),
		})
		stop()
		if err == nil {
			id, _ := runtime.ImageID(ctx, image) // it is there; its ID is for information
			return imageID(order, id), nil
		}
		if err := w.judge(ctx, runtime, err); errors.Is(err, errRuntimeLost) || ctx.Err() != nil {
			return "", err
		}
		words = append(words, cri.Words(err))
	}
	w.puller.Credentials.Forget(order.Secrets) // perhaps they are out of date
	return "", errors.New(strings.Join(words, "; "))
}

// judge tells a runtime that went away from one that answers with an error.
func (w *worker) judge(ctx context.Context, runtime Runtime, err error) error {
	if err == nil || !errors.Is(err, cri.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	if _, dead := runtime.Version(ctx); dead == nil {
		return err
	}
	return errRuntimeLost
}

// lostPause is how long after a broken call the connection is asked for anew.
const lostPause = 200 * time.Millisecond

func (w *worker) current() Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.order
}

func (w *worker) work() Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Work{Status: *w.status.DeepCopy()}
}

// update gives the worker new bounds, which hold from the next attempt on.
func (w *worker) update(order Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	order.Began = w.order.Began
	w.order = order
}

// change changes the status and tells that it did, if so.
func (w *worker) change(do func()) {
	w.mu.Lock()
	before := w.status
	do()
	same := before == w.status
	w.mu.Unlock()
	if !same {
		w.puller.changed()
	}
}

func imageID(order Order, id string) string {
	if id == "" {
		return ""
	}
	return order.Image + "@" + id
}

func annotations(of map[string]string) map[string]string {
	out := map[string]string{v1beta1.PullingImageByKey: v1beta1.PullingImageByNodeAgent}
	for k, v := range of {
		if _, ours := out[k]; !ours {
			out[k] = v
		}
	}
	return out
}

// sleep returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
