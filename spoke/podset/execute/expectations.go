// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long the cache may lag before the API server is asked.
const Patience = 2 * time.Second

// want is what a write must make visible.
type want int

const (
	wantCreated want = iota
	wantVersion
	wantGone
)

// expected is one write that the cache has not shown yet.
type expected struct {
	want want
	name string
	uid  types.UID
	// version to be reached, for wantVersion.
	version string
	since   time.Time
}

// Expectations remembers writes that the cache may not show yet: one set per workload and kind of
// object. The zero value is ready; it is safe for concurrent use.
type Expectations struct {
	mu  sync.Mutex
	set map[scope][]expected
}

// scope keeps pods and claims of one workload apart.
type scope struct {
	owner types.UID
	kind  string
}

// Created expects an object to appear. Its uid may be empty when the answer of the creation was lost.
func (x *Expectations) Created(owner types.UID, obj client.Object, now time.Time) {
	x.add(scope{owner, kindOf(obj)}, expected{want: wantCreated, name: obj.GetName(), uid: obj.GetUID(), since: now})
}

// Patched expects the version of the object to appear.
func (x *Expectations) Patched(owner types.UID, obj client.Object, now time.Time) {
	x.add(scope{owner, kindOf(obj)}, expected{
		want: wantVersion, name: obj.GetName(), uid: obj.GetUID(), version: obj.GetResourceVersion(), since: now,
	})
}

// Deleted expects the object to vanish or to be terminating.
func (x *Expectations) Deleted(owner types.UID, obj client.Object, now time.Time) {
	x.add(scope{owner, kindOf(obj)}, expected{want: wantGone, name: obj.GetName(), uid: obj.GetUID(), since: now})
}

// Forget drops everything about a workload.
func (x *Expectations) Forget(owner types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for s := range x.set {
		if s.owner == owner {
			delete(x.set, s)
		}
	}
}

func (x *Expectations) add(s scope, e expected) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.set == nil {
		x.set = map[scope][]expected{}
	}
	list := slices.DeleteFunc(x.set[s], func(old expected) bool {
		return old.want == e.want && old.uid == e.uid && old.name == e.name
	})
	x.set[s] = append(list, e)
}

// Unseen says whether writes to the workload's objects of that kind are missing in what the cache
// holds, and since when the oldest of them is. Simulations use it; controllers use Observe.
func (x *Expectations) Unseen(owner types.UID, kind client.Object, cached map[string]client.Object) (missing bool, since time.Time) {
	for _, e := range x.settle(scope{owner, kindOf(kind)}, cached) {
		if since.IsZero() || e.since.Before(since) {
			since = e.since
		}
	}
	return !since.IsZero(), since
}

// any says whether any write is not known to be seen.
func (x *Expectations) any(s scope) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.set[s]) > 0
}

// settle forgets what the cached objects show and returns what is still missing.
func (x *Expectations) settle(s scope, cached map[string]client.Object) []expected {
	x.mu.Lock()
	defer x.mu.Unlock()
	left := slices.DeleteFunc(x.set[s], func(e expected) bool { return e.met(cached[e.name]) })
	if len(left) == 0 {
		delete(x.set, s)
		return nil
	}
	x.set[s] = left
	return slices.Clone(left)
}

// asked takes note of what the API server said: a creation it knows nothing of is forgotten, since
// somebody deleted the object; the rest stays until the cache shows it, and is patient anew.
func (x *Expectations) asked(s scope, list []expected, there func(name string) bool, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var left []expected
	for _, e := range x.set[s] {
		if slices.Contains(list, e) {
			if e.want == wantCreated && !there(e.name) {
				continue
			}
			e.since = now
		}
		left = append(left, e)
	}
	if len(left) == 0 {
		delete(x.set, s)
		return
	}
	x.set[s] = left
}

// met says whether the object in the cache under that name, nil for none, shows the write.
func (e *expected) met(seen client.Object) bool {
	switch e.want {
	case wantCreated:
		return seen != nil && (e.uid == "" || seen.GetUID() == e.uid)
	case wantGone:
		return seen == nil || seen.GetUID() != e.uid || seen.GetDeletionTimestamp() != nil
	case wantVersion:
		// An object that is gone was deleted after the write.
		return seen == nil || seen.GetUID() != e.uid || reached(seen.GetResourceVersion(), e.version)
	default:
		return true
	}
}

func reached(seen, wanted string) bool {
	order, err := resourceversion.CompareResourceVersion(seen, wanted)
	return err != nil || order >= 0
}
