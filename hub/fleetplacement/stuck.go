// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// stuckMemory is how long a cluster gets no more replicas of a subset after some of them found no node: as
// long as a member's WorkloadSpread avoids the subset.
const stuckMemory = 5 * time.Minute

// stuck remembers, for each placement, in which subsets of which clusters replicas found no node. Once they
// are moved on nothing shows it any more, and moved back they would be stuck again. A new process begins
// anew, which only makes it try again sooner.
type stuck struct {
	mu sync.Mutex
	by map[types.UID]map[place]scheduled
}

// place is a subset in a cluster.
type place struct{ cluster, subset string }

// scheduled is how many replicas a place could schedule, and until when that counts.
type scheduled struct {
	most  int32
	until time.Time
}

// note takes in what the members say now, by cluster, and returns how many replicas each place may have at
// most, and after how long the next of these ends; 0 when there are none.
func (s *stuck) note(uid types.UID, said map[string][]fleetv1alpha1.SpreadCounters, now time.Time) (share.Holdings, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.by[uid]
	for cluster, list := range said {
		for _, c := range list {
			if c.UnschedulableReplicas <= 0 {
				continue
			}
			if known == nil {
				known = map[place]scheduled{}
			}
			at := place{cluster, c.Subset}
			most := max(c.Replicas-c.UnschedulableReplicas, 0)
			if before, ok := known[at]; ok && now.Before(before.until) {
				most = min(most, before.most)
			}
			known[at] = scheduled{most, now.Add(stuckMemory)}
		}
	}
	most, again := share.Holdings{}, time.Duration(0)
	for at, one := range known {
		left := one.until.Sub(now)
		if left <= 0 {
			delete(known, at)
			continue
		}
		if most[at.cluster] == nil {
			most[at.cluster] = map[string]int32{}
		}
		most[at.cluster][at.subset] = one.most
		again = steps.Sooner(again, left)
	}
	s.keep(uid, known)
	return most, again
}

func (s *stuck) keep(uid types.UID, known map[place]scheduled) {
	if len(known) == 0 {
		delete(s.by, uid)
		return
	}
	if s.by == nil {
		s.by = map[types.UID]map[place]scheduled{}
	}
	s.by[uid] = known
}

// forget drops what is known of a placement.
func (s *stuck) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, uid)
}

// noteStuck remembers which subsets of the target's WorkloadSpread could not schedule their replicas.
func (r *Reconciler) noteStuck(s *snapshot) {
	if s.spread == nil {
		r.stuck.forget(s.placement.UID)
		return
	}
	said := map[string][]fleetv1alpha1.SpreadCounters{}
	for cluster, one := range s.slices {
		if one.DeletionTimestamp.IsZero() {
			said[cluster] = slice.Read(one).Spread
		}
	}
	s.most, s.mostAgain = r.stuck.note(s.placement.UID, said, s.now)
}
