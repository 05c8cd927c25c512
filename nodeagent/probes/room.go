// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"sync"
)

// room bounds how many probes run at once. Those of one namespace have half of the places at most, and wait for one of
// these first: so neither those that run nor those that wait keep other namespaces' probes out.
type room struct {
	places chan struct{}
	// half is how many places a namespace may have.
	half int

	mu     sync.Mutex
	shares map[string]*share
}

// share is what one namespace has of the room.
type share struct {
	places chan struct{}
	// users is how many probes have a place or wait for one; a share without any is dropped.
	users int
}

func newRoom(limit int) *room {
	return &room{places: make(chan struct{}, limit), half: (limit + 1) / 2, shares: map[string]*share{}}
}

// enter waits for a place, which is free again once leave is called; not ok when ctx ended before.
func (r *room) enter(ctx context.Context, namespace string) (leave func(), ok bool) {
	own := r.join(namespace)
	select {
	case own.places <- struct{}{}:
	case <-ctx.Done():
		r.part(namespace, own)
		return nil, false
	}
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		<-own.places
		r.part(namespace, own)
		return nil, false
	}
	return func() {
		<-r.places
		<-own.places
		r.part(namespace, own)
	}, true
}

func (r *room) join(namespace string) *share {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shares[namespace]
	if s == nil {
		s = &share{places: make(chan struct{}, r.half)}
		r.shares[namespace] = s
	}
	s.users++
	return s
}

func (r *room) part(namespace string, s *share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(r.shares, namespace)
	}
}
