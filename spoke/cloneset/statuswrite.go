// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

const (
	// countersEvery is the least time between two status writes that change only numbers.
	countersEvery = 500 * time.Millisecond
	// countersLatest is the most time for which a changed number is not written.
	countersLatest = 5 * time.Second
	// worthWriting is the part of the replicas by which the counters together must have moved to be
	// written before countersLatest: about twenty writes for a whole rollout, however many pods.
	worthWriting = 0.3
)

// pace remembers when each set's status was last written. It is safe for concurrent use.
type pace struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

func newPace() *pace { return &pace{last: map[types.UID]time.Time{}} }

// wrote remembers a write, and forgets those so long ago that they hold nothing back.
func (p *pace) wrote(uid types.UID, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.last, func(_ types.UID, at time.Time) bool { return now.Sub(at) > countersLatest })
	p.last[uid] = now
}

// left is how long a write of mere numbers should wait; much says that they moved a lot.
func (p *pace) left(uid types.UID, now time.Time, much bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if much {
		return p.last[uid].Add(countersEvery).Sub(now)
	}
	return p.last[uid].Add(countersLatest).Sub(now)
}

// status writes the status when it changed.
func (p *pass) status(ctx context.Context) (steps.Outcome, error) {
	view, _ := podset.Look(p.snapshot, p.rules)
	budget, _ := budgetOf(p.set, &p.Options)
	scaleErr, updateErr := p.failures()
	status, deadline := statusOf(&facts{
		set: p.set, view: view, waits: p.plan.Waits, selector: p.selector.String(), now: p.now,
		updateRevision: p.history.Update.Name, currentRevision: p.history.Current.Name,
		collisions: p.history.Collisions, budget: budget, scaleErr: scaleErr, updateErr: updateErr,
	})
	out := steps.Outcome{RequeueAfter: deadline}
	before := &p.stored.Status
	if equality.Semantic.DeepEqual(before, &status) {
		return out, nil
	}
	much := float64(moved(before, &status)) >= worthWriting*float64(budget.Replicas)
	if left := p.pace.left(p.set.UID, p.now, much); left > 0 && onlyCounters(before, &status) && !settled(&status, budget.Replicas) {
		out.RequeueAfter = steps.Sooner(out.RequeueAfter, left)
		return out, nil
	}
	if err := p.writeStatus(ctx, &status); err != nil {
		return out, err
	}
	p.pace.wrote(p.set.UID, p.now)
	return out, nil
}

// writeStatus sends what changed, and every counter, so that a 0 is there too and not only left out.
func (p *pass) writeStatus(ctx context.Context, status *appsv1beta1.CloneSetStatus) error {
	before, after := p.stored.DeepCopy(), p.stored.DeepCopy()
	after.Status = *status
	b := &before.Status
	b.Replicas, b.ReadyReplicas, b.AvailableReplicas, b.UpdatedReplicas, b.UpdatedReadyReplicas = -1, -1, -1, -1, -1
	p.sent.remember(after)
	err := p.client.Status().Patch(ctx, after, client.MergeFrom(before), client.FieldOwner(fieldOwner))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status: %w", err)
	}
	return nil
}

// moved is by how much the counters differ in all.
func moved(a, b *appsv1beta1.CloneSetStatus) int32 {
	x, y := countersOf(a), countersOf(b)
	var sum int32
	for i := range x {
		sum += max(x[i]-y[i], y[i]-x[i])
	}
	return sum
}

func countersOf(s *appsv1beta1.CloneSetStatus) [6]int32 {
	return [...]int32{
		s.Replicas, s.ReadyReplicas, s.AvailableReplicas,
		s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas,
	}
}

// settled says that every pod is there, available and as new as it may be: people wait for that.
func settled(s *appsv1beta1.CloneSetStatus, replicas int) bool {
	return int(s.AvailableReplicas) == replicas && int(s.Replicas) == replicas &&
		s.UpdatedAvailableReplicas >= s.ExpectedUpdatedReplicas
}

// failures sorts this pass's errors into those of scaling and those of updating.
func (p *pass) failures() (scale, update error) {
	var scaleErrs, updateErrs []error
	for i := range p.outcome.Facts {
		f := &p.outcome.Facts[i]
		switch {
		case f.Err == nil || f.Raced() || f.InVain():
		case f.Kind == execute.Changed, f.ForUpdate:
			updateErrs = append(updateErrs, f.Err)
		default:
			scaleErrs = append(scaleErrs, errors.New(textOf(p.stored, f)))
		}
	}
	for i := range p.plan.Waits {
		if w := &p.plan.Waits[i]; w.Failed {
			updateErrs = append(updateErrs, errors.New(describe(w)))
		}
	}
	return first(scaleErrs), first(updateErrs)
}

// first is enough for a condition: events tell the others.
func first(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}
