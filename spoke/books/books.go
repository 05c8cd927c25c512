// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package books

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long a change may take. It is less than the time-out of the webhooks that ask.
const Patience = 4 * time.Second

// ErrBusy says that others had the books for too long.
var ErrBusy = errors.New("too many ask for the same at once: try again")

// Entry looks at the books and changes them where it has something to write; it says whether it did. It is called anew
// with other books when somebody else wrote: the last call counts. surer says that it wants to be asked again with what
// the API server has, where it was shown a copy.
type Entry[T client.Object] func(book T) (changed, surer bool)

// Books keeps the books of all objects of a kind. One serves a process. T is a pointer.
type Books[T client.Object] struct {
	// Live reads from the API server, Writer writes status.
	Live   client.Reader
	Writer client.SubResourceWriter
	// FieldOwner of the writes.
	FieldOwner client.FieldOwner
	Clock      clock.Clock
	// New makes an empty object.
	New func() T
	// Patch is what makes the status of before that of after, for nothing but the version that before is.
	Patch func(before, after T) (client.Patch, error)

	mu    sync.Mutex
	pages map[types.UID]*page[T]
}

// page is what this process knows of one object.
type page[T client.Object] struct {
	mu sync.Mutex
	// last is the newest copy that the API server gave to this process, until the cache has it.
	last T
	has  bool
	// waiting are the changes to be written next; busy says that somebody sees to them.
	waiting []*request[T]
	busy    bool
}

// request is one change.
type request[T client.Object] struct {
	ctx    context.Context
	seen   T
	change Entry[T]
	// done takes the answer; it holds one.
	done chan answer[T]
}

type answer[T client.Object] struct {
	book T
	err  error
}

// Forget drops what is remembered of an object that is gone.
func (b *Books[T]) Forget(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, uid)
}

func (b *Books[T]) page(uid types.UID) *page[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pages == nil {
		b.pages = map[types.UID]*page[T]{}
	}
	p := b.pages[uid]
	if p == nil {
		p = &page[T]{}
		b.pages[uid] = p
	}
	return p
}

// Freshest is the newer one of the copy in the cache and the one that this process got last. It must not be changed.
func (b *Books[T]) Freshest(seen T) T { return b.page(seen.GetUID()).freshest(seen) }

func (p *page[T]) freshest(seen T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has && newer(p.last, seen) {
		return p.last
	}
	if p.has {
		var none T
		p.last, p.has = none, false
	}
	return seen
}

// newer says whether a is of a later version than b.
func newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

func (p *page[T]) remember(book T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.has = book, true
}

// Write makes a change, and returns the books as they are after it; they must not be changed. Errors are NotFound when
// the object is gone, a conflict when others were faster at each try, ErrBusy, the API server's, or what an entry panicked
// with.
func (b *Books[T]) Write(ctx context.Context, seen T, change Entry[T]) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	r := &request[T]{ctx: ctx, seen: seen, change: change, done: make(chan answer[T], 1)}
	b.page(seen.GetUID()).enter(b, r)
	select {
	case a := <-r.done:
		return a.book, a.err
	case <-ctx.Done():
		var none T
		return none, ErrBusy
	}
}

// enter takes a change in. The first one has all that come meanwhile seen to.
func (p *page[T]) enter(b *Books[T], r *request[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, r)
	if !p.busy {
		p.busy = true
		go p.serve(b)
	}
}

// serve writes what waits until nothing does.
func (p *page[T]) serve(b *Books[T]) {
	for {
		p.mu.Lock()
		list := p.waiting
		p.waiting = nil
		p.busy = len(list) > 0
		p.mu.Unlock()
		if len(list) == 0 {
			return
		}
		b.commit(p, list)
	}
}
