// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/books"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

// Question asks whether a pod may be made unavailable.
type Question struct {
	// Pod as it is, before the operation. It is not changed.
	Pod       *corev1.Pod
	Operation policyv1beta1.PubOperation
	// DryRun answers and writes nothing.
	DryRun bool
}

// Answer says whether it may.
type Answer struct {
	Allowed bool
	// Reason for people to read.
	Reason string
	// Budget that was asked; nil when none protects the pod.
	Budget *budget.Budget
	// Spent says of a refusal that the budget is spent; else it could not be written, and asking again may help.
	Spent bool
}

// Ask answers, and reserves where that is needed. Pods that no budget protects cost nothing. Errors are those of
// reading the budget; whatever keeps a reservation from being written is a refusal.
func (l *Ledger) Ask(ctx context.Context, q Question) (Answer, error) {
	r := &budget.Request{Pod: q.Pod, Operation: q.Operation, Now: l.Clock.Now(), ResizeApart: l.ResizeApart}
	name := budget.NameOf(q.Pod)
	if name == "" {
		return Answer{Allowed: true, Reason: budget.Check(r, nil).Reason}, nil
	}
	seen := &budget.Budget{}
	err := l.Seen.Get(ctx, types.NamespacedName{Namespace: q.Pod.Namespace, Name: name}, seen, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) {
		return gone, nil
	}
	if err != nil {
		return Answer{}, fmt.Errorf("PodUnavailableBudget %s: %w", name, err)
	}
	if v := budget.Check(r, l.kept().Freshest(seen)); v.Answer == budget.Allow {
		return Answer{Allowed: true, Reason: v.Reason, Budget: seen}, nil
	}
	return l.reserve(ctx, seen, &reservation{r, q.DryRun, budget.Verdict{}}), nil
}

// gone is the answer where the budget that the pod is stamped with does not exist.
var gone = Answer{Allowed: true, Reason: "the pod's budget does not exist"}

// reservation is a request on its way into the books.
type reservation struct {
	*budget.Request
	dryRun bool
	// verdict of the last look.
	verdict budget.Verdict
}

// decide books the pod if the budget lets it. A refusal has to be by what the API server has.
func (r *reservation) decide(b *budget.Budget) (changed, surer bool) {
	r.verdict = budget.Check(r.Request, b)
	if r.verdict.Answer != budget.Reserve || r.dryRun {
		return false, r.verdict.Answer == budget.Deny
	}
	budget.Book(&b.Status, r.Request)
	return true, false
}

func (l *Ledger) reserve(ctx context.Context, seen *budget.Budget, r *reservation) Answer {
	done, err := l.kept().Write(ctx, seen, r.decide)
	switch {
	case apierrors.IsNotFound(err):
		return gone
	case errors.Is(err, books.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return Answer{Reason: books.ErrBusy.Error(), Budget: seen}
	case err != nil:
		return Answer{Reason: err.Error(), Budget: seen}
	case r.verdict.Answer == budget.Deny:
		return Answer{Reason: fmt.Sprintf("PodUnavailableBudget %s: %s", seen.Name, r.verdict.Reason), Budget: done, Spent: true}
	default:
		return Answer{Allowed: true, Reason: r.verdict.Reason, Budget: done}
	}
}
