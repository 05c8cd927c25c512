// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

const (
	idLength = 5
	// raceRetry is how soon a pass that lost a race is tried again.
	raceRetry = 50 * time.Millisecond
	// budgetRetry is how soon a PodUnavailableBudget that refused is asked again.
	budgetRetry = time.Second
	// refusedRetry is how soon a deletion that was refused is tried again.
	refusedRetry = 5 * time.Second
	// askFor is how long a pass asks budgets. What they reserve holds for some seconds only, and is used when all are
	// asked.
	askFor = 2 * time.Second
)

// execute plans and carries the plan out.
func (p *pass) execute(ctx context.Context) (steps.Outcome, error) {
	p.snapshot = &podset.Snapshot{
		Now: p.now, Pods: p.pods, Update: p.history.Update, Current: p.history.Current,
		Revisions: p.history.All, NodeLabels: p.nodeLabels(ctx),
	}
	now := situation{p.history.Update == p.history.Current, awaited(p.set, p.pods, p.claims)}
	rules, bad := rulesOf(p.set, now, &p.Options, p.differs)
	p.rules = &rules
	p.plan = podset.Make(p.snapshot, &rules)
	if bad != nil {
		p.plan.Waits = append(p.plan.Waits, podset.Wait{Reason: "InvalidLimit", Message: bad.Error(), Failed: true})
	}
	p.thought = p.Clock.Now().Sub(p.began)
	unasked := p.askBudgets(ctx)
	p.outcome = p.executor.Execute(ctx, p.set, &p.plan, newInstances(p))
	p.events.Publish(eventsOf(p.stored, &p.plan, &p.outcome)...)
	p.tallies.done(ctx, p.set.UID, p.outcome.Facts, p.now)
	out := steps.Outcome{}
	for i := range p.plan.Waits {
		out.RequeueAfter = steps.Sooner(out.RequeueAfter, p.plan.Waits[i].After)
	}
	if p.outcome.Raced() || p.claimsLeftOver() {
		out.RequeueAfter = steps.Sooner(out.RequeueAfter, raceRetry)
	}
	if p.outcome.Refused() {
		out.RequeueAfter = steps.Sooner(out.RequeueAfter, refusedRetry)
	}
	return out, errors.Join(unasked, p.outcome.Err(), p.unmark(ctx))
}

// askBudgets asks for each pod whose update is to start, in order. The first that may not be updated now ends the updates
// of this pass, and so does the end of the time for it; an error says that one could not be asked for. Pods that are not
// ready are asked for all the same: their update takes nothing away, and may be what gives the budget room again.
func (p *pass) askBudgets(ctx context.Context) error {
	if p.Guard == nil {
		return nil
	}
	began := p.Clock.Now()
	var held []*corev1.Pod
	var why *podset.Wait
	var unasked error
	for _, pod := range p.plan.Starts {
		if why == nil && p.Clock.Now().Sub(began) > askFor {
			why = &podset.Wait{Reason: podset.WaitBudget, Message: "the pods asked for before come first", After: raceRetry}
		}
		if why != nil && (unasked != nil || pods.IsReady(pod)) {
			held = append(held, pod)
			continue
		}
		refusal, err := p.mayUpdate(ctx, pod)
		if refusal == "" {
			continue
		}
		held, unasked = append(held, pod), err
		if why == nil {
			why = &podset.Wait{Reason: podset.WaitBudget, Message: refusal, After: budgetRetry}
		}
	}
	if why != nil {
		p.plan.Withhold(held, *why)
	}
	return unasked
}

// mayUpdate asks for one pod; a text says why it may not be updated now.
func (p *pass) mayUpdate(ctx context.Context, pod *corev1.Pod) (string, error) {
	refusal, err := p.Guard.MayUpdate(ctx, pod)
	if err != nil {
		refusal = "the budget cannot be asked: " + err.Error()
	}
	return refusal, err
}

// claimsLeftOver says whether claims wait for a pod that is not wanted any more: the next pass deletes
// them.
func (p *pass) claimsLeftOver() bool {
	return len(p.plan.Create) == 0 && p.executor.DropSpares(p.set)
}

// nodeLabels asks for nodes only when the template spreads its pods.
func (p *pass) nodeLabels(ctx context.Context) func(string) (map[string]string, bool) {
	if len(p.set.Spec.Template.Spec.TopologySpreadConstraints) == 0 {
		return nil
	}
	return func(name string) (map[string]string, bool) {
		var node corev1.Node
		if name == "" || p.client.Get(ctx, types.NamespacedName{Name: name}, &node) != nil {
			return nil, false
		}
		return node.Labels, true
	}
}

// trimPodsToDelete takes the names out of podsToDelete whose pods are gone.
func (p *pass) trimPodsToDelete(ctx context.Context) (steps.Outcome, error) {
	names := p.stored.Spec.ScaleStrategy.PodsToDelete
	var left []string
	for _, name := range names {
		at := slices.IndexFunc(p.pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		if at >= 0 && p.pods[at].DeletionTimestamp == nil {
			left = append(left, name)
		}
	}
	if len(left) == len(names) {
		return steps.Outcome{}, nil
	}
	after := p.stored.DeepCopy()
	after.Spec.ScaleStrategy.PodsToDelete = left
	patch := client.MergeFromWithOptions(p.stored, client.MergeFromWithOptimisticLock{})
	if err := p.client.Patch(ctx, after, patch, client.FieldOwner(fieldOwner)); err != nil {
		return steps.Outcome{}, fmt.Errorf("trim podsToDelete: %w", err)
	}
	return steps.Outcome{}, nil
}

// truncate deletes revisions beyond the history limit.
func (p *pass) truncate(ctx context.Context) (steps.Outcome, error) {
	limit := int(*p.set.Spec.RevisionHistoryLimit)
	if len(p.history.All) <= limit {
		return steps.Outcome{}, nil
	}
	inUse := []string{p.history.Update.Name, p.history.Current.Name}
	for _, pod := range p.pods {
		inUse = append(inUse, pod.Labels[appsv1beta1.ControllerRevisionHashLabel])
	}
	surplus := revision.Truncate(p.history.All, inUse, limit)
	return steps.Outcome{}, p.revisions.Remove(ctx, surplus)
}
