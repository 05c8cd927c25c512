// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/spoke/books"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

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

	once  sync.Once
	books *books.Books[*budget.Budget]
}

// Forget drops what is remembered of a budget that is gone.
func (l *Ledger) Forget(uid types.UID) { l.kept().Forget(uid) }

func (l *Ledger) kept() *books.Books[*budget.Budget] {
	l.once.Do(func() {
		l.books = &books.Books[*budget.Budget]{
			Live: l.Live, Writer: l.Writer, FieldOwner: l.FieldOwner, Clock: l.Clock,
			New: func() *budget.Budget { return &budget.Budget{} }, Patch: patchOf,
		}
	})
	return l.books
}
