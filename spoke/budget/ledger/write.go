// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

const (
	// tries is how often a write is tried that others get in the way of.
	tries = 4
	// retryAfter passes before the third try and later ones: before the second it was only the copy that was old.
	retryAfter = 500 * time.Millisecond
)

// decision looks at the books and returns what to write; nil when nothing is to be written. It says whether it wants
// to be asked again with what the API server has, where it was shown a copy.
type decision func(b *budget.Budget) (next *policyv1beta1.PodUnavailableBudgetStatus, surer bool)

// entry is one change of the books, by who has the turn.
type change struct {
	*Ledger
	page   *page
	seen   *budget.Budget
	decide decision
}

// write returns the books as they are after the change. Errors are NotFound when the budget is gone, a conflict when
// others were faster at each try, or the API server's.
func (c *change) write(ctx context.Context) (*budget.Budget, error) {
	done, err := c.try(ctx, c.page.freshest(c.seen), false)
	for n := 1; n < tries && apierrors.IsConflict(err); n++ {
		if n > 1 && !c.rest(ctx) {
			break
		}
		var live *budget.Budget
		if live, err = c.read(ctx); err == nil {
			done, err = c.try(ctx, live, true)
		}
	}
	return done, err
}

// try decides once, and writes. A copy that it does not trust is read anew.
func (c *change) try(ctx context.Context, b *budget.Budget, live bool) (*budget.Budget, error) {
	next, surer := c.decide(b)
	if surer && !live {
		var err error
		if b, err = c.read(ctx); err != nil {
			return nil, err
		}
		next, _ = c.decide(b)
	}
	if next == nil {
		return b, nil
	}
	patch, err := patchOf(b, next)
	if err != nil {
		return nil, err
	}
	after := &budget.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, UID: b.UID}}
	if err := c.Writer.Patch(ctx, after, patch, c.FieldOwner, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("status of PodUnavailableBudget %s: %w", b.Name, err)
	}
	c.page.remember(after)
	return after, nil
}

// read asks the API server. A budget of that name that was made anew is another one.
func (c *change) read(ctx context.Context) (*budget.Budget, error) {
	live := &budget.Budget{}
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(c.seen), live); err != nil {
		return nil, err
	}
	if live.UID != c.seen.UID {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: policyv1beta1.GroupName, Resource: "podunavailablebudgets"}, c.seen.Name)
	}
	c.page.remember(live)
	return live, nil
}

// rest says whether there is time for another try, after a while.
func (c *change) rest(ctx context.Context) bool {
	select {
	case <-c.Clock.After(wait.Jitter(retryAfter, 0.1)):
		return true
	case <-ctx.Done():
		return false
	}
}

// patchOf makes the books what they should be, of the very version that was read. Numbers are sent all, for a budget
// that was never looked at has none.
func patchOf(b *budget.Budget, next *policyv1beta1.PodUnavailableBudgetStatus) (client.Patch, error) {
	status := map[string]any{
		"observedGeneration": next.ObservedGeneration, "unavailableAllowed": next.UnavailableAllowed,
		"currentAvailable": next.CurrentAvailable, "desiredAvailable": next.DesiredAvailable, "totalReplicas": next.TotalReplicas,
	}
	if entries := entriesOf(b.Status.DisruptedPods, next.DisruptedPods); len(entries) > 0 {
		status["disruptedPods"] = entries
	}
	if entries := entriesOf(b.Status.UnavailablePods, next.UnavailablePods); len(entries) > 0 {
		status["unavailablePods"] = entries
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion}, "status": status,
	})
	return client.RawPatch(types.MergePatchType, body), err
}

// entriesOf are the entries that differ; those that go are null.
func entriesOf(old, next map[string]metav1.Time) map[string]*metav1.Time {
	out := map[string]*metav1.Time{}
	for name := range old {
		if _, stays := next[name]; !stays {
			out[name] = nil
		}
	}
	for name, at := range next {
		if before, had := old[name]; !had || !before.Equal(&at) {
			out[name] = &at
		}
	}
	return out
}
