// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

// LimitError says that a budget's limit cannot be read.
type LimitError struct{ Err error }

// Error says why.
func (e *LimitError) Error() string { return e.Err.Error() }

// Settle brings the books up to what was seen of the budget's pods, and writes when that changes something. It
// returns what was counted. Errors are a LimitError, or the API server's: a
// conflict when others write the same books all the time, NotFound when the budget is gone.
func (l *Ledger) Settle(ctx context.Context, seen *budget.Budget, pods []*corev1.Pod, expected int32) (budget.Count, error) {
	var count budget.Count
	var unreadable error
	_, err := l.kept().Write(ctx, seen, func(b *budget.Budget) (changed, surer bool) {
		count, unreadable = budget.Tally(&budget.Scene{Now: l.Clock.Now(), Budget: b, Pods: pods, Expected: expected})
		if unreadable != nil || equality.Semantic.DeepEqual(&count.Status, &b.Status) {
			return false, false
		}
		b.Status = count.Status
		return true, false
	})
	if unreadable != nil {
		return budget.Count{}, &LimitError{unreadable}
	}
	return count, err
}

// Books are the newest books of a budget that this process knows of. They must not be changed.
func (l *Ledger) Books(seen *budget.Budget) *policyv1beta1.PodUnavailableBudgetStatus {
	return &l.kept().Freshest(seen).Status
}
