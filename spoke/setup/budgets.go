// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/protectionlog"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/cloneset"
	"github.com/flotilla-sh/flotilla/spoke/podunavailablebudget"
)

// budgets is what controllers and webhooks share of PodUnavailableBudgets: the one keeper of their books. Nil where the
// gates are off.
type budgets struct {
	books *ledger.Ledger
	guard *podunavailablebudget.Guard
}

// newBudgets hands the gates that budgets read to them.
func newBudgets(mgr manager.Manager, log *protectionlog.Log) (*budgets, error) {
	updates, deletions := features.Enabled(features.PodUnavailableBudgetUpdateGate), features.Enabled(features.PodUnavailableBudgetDeleteGate)
	if !updates && !deletions {
		return nil, nil
	}
	books := podunavailablebudget.NewLedger(mgr, features.Enabled(features.InPlacePodVerticalScaling))
	guard, err := podunavailablebudget.NewGuard(mgr, books)
	if err != nil {
		return nil, err
	}
	guard.Updates, guard.Deletions, guard.Log = updates, deletions, log
	return &budgets{books, guard}, nil
}

// updateGuard is what workloads ask before they update a pod; nil where nobody is to be asked.
func (b *budgets) updateGuard() cloneset.UpdateGuard {
	if b == nil || !b.guard.Updates {
		return nil
	}
	return b.guard
}

// addController adds the controller of budgets; none where the gates are off.
func (b *budgets) addController(mgr manager.Manager) error {
	if b == nil {
		return nil
	}
	return podunavailablebudget.Add(context.Background(), mgr, b.books)
}
