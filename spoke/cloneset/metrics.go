// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

// secondsBounds are the upper bounds of the histogram of in-place updates.
var secondsBounds = [...]float64{1, 5, 15, 30, 60, 120, 300, 900, 3600}

// listTimeout bounds how long a scrape waits for a cache that is not filled yet.
const listTimeout = 2 * time.Second

// tally is what one CloneSet's passes did since this process began to act.
type tally struct {
	inPlace, recreated, lagged uint64
	// seconds that the in-place updates took together, and how many took at most each of secondsBounds.
	seconds float64
	within  [len(secondsBounds)]uint64
}

// manyTallies is how many sets may be counted for, beyond twice those there were, before nobody's counts are looked for:
// where nothing scrapes, they would else be kept for ever.
const manyTallies = 1000

// tallies counts per CloneSet, by uid. It is safe for concurrent use.
type tallies struct {
	// sets is the cache, which has the CloneSets there are.
	sets client.Reader

	mu    sync.Mutex
	byUID map[types.UID]*tally
	// most is how many there may be before the next look for those of sets that are gone.
	most int
}

func newTallies(sets client.Reader) *tallies {
	return &tallies{sets: sets, byUID: map[types.UID]*tally{}, most: manyTallies}
}

// done counts what a pass wrote. It looks at nothing but that, until there are counts of very many sets.
func (t *tallies) done(ctx context.Context, owner types.UID, facts []execute.Fact, now time.Time) {
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Err != nil:
		case f.ForUpdate, f.Kind == execute.Changed && f.Change.Kind == podset.MarkForRecreate:
			t.count(owner, func(n *tally) { n.recreated++ })
		case f.Kind != execute.Changed:
		case completes(f.Change):
			took := secondsOf(f.Change, now)
			t.count(owner, func(n *tally) { n.updatedInPlace(took) })
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byUID) > t.most {
		_, _ = t.drop(ctx) // what cannot be listed now is dropped by and by
	}
}

func (n *tally) updatedInPlace(seconds float64) {
	n.inPlace++
	n.seconds += seconds
	for i, bound := range secondsBounds {
		if seconds <= bound {
			n.within[i]++
		}
	}
}

// completes says whether the change ends an in-place update: it takes the pod out of state Updating.
func completes(c *podset.Change) bool {
	if c.Kind != podset.Refresh || pods.LifecycleState(c.Pod) != appsv1beta1.LifecycleStateUpdating {
		return false
	}
	for i := range c.Writes {
		if c.Writes[i].Patch.Labels[appsv1beta1.LifecycleStateKey] != nil {
			return true
		}
	}
	return false
}

// secondsOf is how long an update took, by the time at which it began that is written on the pod.
func secondsOf(c *podset.Change, now time.Time) float64 {
	state, err := inplace.ReadState(c.Pod)
	if err != nil || state == nil {
		return 0
	}
	return max(now.Sub(state.UpdateTimestamp.Time).Seconds(), 0)
}

// lagged counts a pass that had to ask the API server because the cache did not show its last writes.
func (t *tallies) lagged(owner client.Object) {
	t.count(owner.GetUID(), func(n *tally) { n.lagged++ })
}

func (t *tallies) count(owner types.UID, add func(*tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byUID[owner]
	if n == nil {
		n = &tally{}
		t.byUID[owner] = n
	}
	add(n)
}

// take returns the sets there are, not to be changed, and what was counted for them.
func (t *tallies) take(ctx context.Context) ([]appsv1beta1.CloneSet, map[types.UID]tally, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, err := t.drop(ctx)
	if err != nil {
		return nil, nil, err
	}
	out := make(map[types.UID]tally, len(t.byUID))
	for uid, n := range t.byUID {
		out[uid] = *n
	}
	return list, out, nil
}

// drop forgets the counts of sets that are gone, and returns those that are there. A set is in the cache before
// anything is counted for it.
func (t *tallies) drop(ctx context.Context) ([]appsv1beta1.CloneSet, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var list appsv1beta1.CloneSetList
	if err := t.sets.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	there := make(map[types.UID]bool, len(list.Items))
	for i := range list.Items {
		there[list.Items[i].UID] = true
	}
	maps.DeleteFunc(t.byUID, func(uid types.UID, _ *tally) bool { return !there[uid] })
	t.most = manyTallies + 2*len(list.Items)
	return list.Items, nil
}
