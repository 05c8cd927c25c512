// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// statusInterval is how far apart the status writes of one placement are while only counters move.
const statusInterval = time.Second

// pace remembers when the status of each placement was last written.
type pace struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

// wait is how long the next write should wait; 0 when it need not.
func (p *pace) wait(uid types.UID, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[uid]
	if !ok {
		return 0
	}
	return max(statusInterval-now.Sub(last), 0)
}

func (p *pace) wrote(uid types.UID, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[types.UID]time.Time{}
	}
	p.last[uid] = now
}

func (p *pace) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, uid)
}
