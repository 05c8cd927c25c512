// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// dropped remembers, for each placement, since when OCM's decisions have been missing a cluster that is
// well. A new process begins anew, which only makes the clusters keep their shares longer.
type dropped struct {
	mu    sync.Mutex
	since map[types.UID]map[string]time.Time
}

// note takes in which clusters are missing now, and returns since when.
func (d *dropped) note(uid types.UID, missing []string, now time.Time) map[string]time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.since[uid]
	if len(missing) == 0 {
		delete(d.since, uid)
		return nil
	}
	since := make(map[string]time.Time, len(missing))
	for _, cluster := range missing {
		since[cluster] = now
		if at, known := before[cluster]; known {
			since[cluster] = at
		}
	}
	if d.since == nil {
		d.since = map[types.UID]map[string]time.Time{}
	}
	d.since[uid] = since
	return maps.Clone(since)
}

func (d *dropped) forget(uid types.UID) { d.note(uid, nil, time.Time{}) }
