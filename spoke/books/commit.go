// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package books

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// tries is how often a write is tried that others get in the way of.
	tries = 4
	// retryAfter passes before the third try and later ones: before the second it was only the copy that was old.
	retryAfter = 500 * time.Millisecond
)

// batch is what is written together.
type batch[T client.Object] struct {
	*Books[T]
	page *page[T]
	list []*request[T]
}

// commit writes changes together and answers them.
func (b *Books[T]) commit(p *page[T], list []*request[T]) {
	c := &batch[T]{b, p, list}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(list[0].ctx), Patience)
	defer cancel()
	book, err := c.write(ctx)
	for _, r := range c.list {
		r.done <- answer[T]{book, err}
	}
}

// write returns the books as they are after the changes.
func (c *batch[T]) write(ctx context.Context) (T, error) {
	newest := c.list[0].seen
	for _, r := range c.list[1:] {
		if newer(r.seen, newest) {
			newest = r.seen
		}
	}
	done, err := c.try(ctx, c.page.freshest(newest), false)
	for n := 1; n < tries && apierrors.IsConflict(err); n++ {
		if n > 1 && !c.rest(ctx) {
			break
		}
		var live T
		if live, err = c.read(ctx, newest); err == nil {
			done, err = c.try(ctx, live, true)
		}
	}
	return done, err
}

// try decides once, and writes. A copy that some change does not trust is read anew.
func (c *batch[T]) try(ctx context.Context, book T, live bool) (T, error) {
	after, changed, surer := c.decide(book)
	if surer && !live {
		var err error
		if book, err = c.read(ctx, book); err != nil {
			return book, err
		}
		after, changed, _ = c.decide(book)
	}
	if !changed {
		return book, nil
	}
	patch, err := c.Patch(book, after)
	if err != nil {
		return book, err
	}
	written := c.New()
	written.SetNamespace(book.GetNamespace())
	written.SetName(book.GetName())
	written.SetUID(book.GetUID())
	if err := c.Writer.Patch(ctx, written, patch, c.FieldOwner, client.DisableReadYourWritesConsistency); err != nil {
		return book, fmt.Errorf("status of %s: %w", book.GetName(), err)
	}
	c.page.remember(written)
	return written, nil
}

// decide asks each change, on what those before it left. Those whose askers have gone are left out, as are those that
// panic: then it begins anew, since they may have left something half done.
func (c *batch[T]) decide(book T) (after T, changed, surer bool) {
	after = book.DeepCopyObject().(T) //nolint:forcetypeassert // a copy is of the same type
	for i, r := range c.list {
		if r.ctx.Err() != nil {
			continue
		}
		did, wants, err := ask(r, after)
		if err != nil {
			c.list = append(c.list[:i:i], c.list[i+1:]...)
			r.done <- answer[T]{err: err}
			return c.decide(book)
		}
		changed, surer = changed || did, surer || wants
	}
	return after, changed, surer
}

func ask[T client.Object](r *request[T], book T) (changed, surer bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.FromContext(r.ctx).Error(nil, "panic while the books were changed", "object", book.GetName(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	changed, surer = r.change(book)
	return changed, surer, nil
}

// read asks the API server. An object of that name that was made anew is another one.
func (c *batch[T]) read(ctx context.Context, seen T) (T, error) {
	live := c.New()
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(seen), live); err != nil {
		return live, err
	}
	if live.GetUID() != seen.GetUID() {
		return live, apierrors.NewNotFound(schema.GroupResource{}, seen.GetName())
	}
	c.page.remember(live)
	return live, nil
}

// rest says whether there is time for another try, after a while.
func (c *batch[T]) rest(ctx context.Context) bool {
	select {
	case <-c.Clock.After(wait.Jitter(retryAfter, 0.1)):
		return true
	case <-ctx.Done():
		return false
	}
}
