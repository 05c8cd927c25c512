// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/flotilla-sh/flotilla/spoke/budget"
)

// errBusy: others had the turn for too long.
var errBusy = errors.New("too many ask for the same budget at once: try again")

// page is what this process knows of one budget.
type page struct {
	// turn is held by the one who writes.
	turn chan struct{}

	mu sync.Mutex
	// last is the newest copy that the API server gave to this process; nil once the cache has it.
	last *budget.Budget
}

// take waits for the turn; give ends it.
func (p *page) take(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

func (p *page) give() { <-p.turn }

// freshest is the newer one of the copy in the cache and the one that this process got last.
func (p *page) freshest(seen *budget.Budget) *budget.Budget {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		return seen
	}
	if order, err := resourceversion.CompareResourceVersion(seen.ResourceVersion, p.last.ResourceVersion); err != nil || order >= 0 {
		p.last = nil
		return seen
	}
	return p.last
}

func (p *page) remember(b *budget.Budget) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = b
}
