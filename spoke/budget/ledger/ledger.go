// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long an answer may take. It is less than the time-out of the webhooks that ask.
const Patience = 4 * time.Second

// Ledger keeps the books. One serves a process.
type Ledger struct {
	// Seen reads from the cache, Live from the API server.
	Seen, Live client.Reader
	// Writer writes the status of budgets.
	Writer client.SubResourceWriter
	// FieldOwner of the writes.
	FieldOwner client.FieldOwner
	Clock      clock.Clock
	// ResizeApart is gate InPlacePodVerticalScaling.
	ResizeApart bool

	mu    sync.Mutex
	pages map[types.UID]*page
}

// Forget drops what is remembered of a budget that is gone.
func (l *Ledger) Forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, uid)
}

func (l *Ledger) page(uid types.UID) *page {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil {
		l.pages = map[types.UID]*page{}
	}
	p := l.pages[uid]
	if p == nil {
		p = &page{turn: make(chan struct{}, 1)}
		l.pages[uid] = p
	}
	return p
}
