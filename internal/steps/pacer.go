// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// restFactor is how many times longer an object rests than its last pass thought.
	restFactor = 4
	// longestRest bounds the rest of an object of any size.
	longestRest = 500 * time.Millisecond
)

// Pacer keeps what passes over big objects cost in bounds. A pass looks at all that an object has, so one for each
// event would cost the square of its size: after a pass the object rests for a few times as long as the pass thought,
// and one pass takes in all that happened meanwhile. Small objects rest for next to nothing. The zero value is ready; it
// is safe for concurrent use.
type Pacer struct {
	mu    sync.Mutex
	until map[types.UID]time.Time
}

// Rest notes the end of a pass that thought for so long.
func (p *Pacer) Rest(uid types.UID, thought time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[types.UID]time.Time{}
	}
	maps.DeleteFunc(p.until, func(_ types.UID, t time.Time) bool { return now.After(t) })
	p.until[uid] = now.Add(min(restFactor*thought, longestRest))
}

// Left is how long the object still rests, 0 when it does not.
func (p *Pacer) Left(uid types.UID, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.until[uid].Sub(now), 0)
}
