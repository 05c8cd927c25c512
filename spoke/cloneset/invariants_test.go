// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/podset"
)

// check holds a plan against what a CloneSet promises.
func (s *sim) check(snapshot *podset.Snapshot, rules *podset.Rules, plan *podset.Plan) error {
	for _, err := range []error{
		s.checkAvailability(snapshot, rules, plan),
		s.checkSurge(rules, plan),
		s.checkRevisions(snapshot, rules, plan),
		s.checkOrderOfWrites(plan),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// takesAway says whether a change makes an available pod unavailable.
func takesAway(pod *corev1.Pod, c *podset.Change) bool {
	after := *pod
	for i := range c.Writes {
		c.Writes[i].Patch.ApplyTo(&after)
	}
	return !pods.IsReady(&after) || !pods.IsNormal(&after)
}

// checkAvailability: who is taken away must leave replicas - maxUnavailable available pods. Pods that
// we took away before and that the view still shows as available would not count: that the view
// shows them so is itself a breach of the rule that own writes are seen first.
func (s *sim) checkAvailability(snapshot *podset.Snapshot, rules *podset.Rules, plan *podset.Plan) error {
	view, _ := podset.Look(snapshot, rules)
	available := map[string]bool{}
	for i := range view.Active {
		p := &view.Active[i]
		if !p.Available {
			continue
		}
		if at, ok := s.disrupted[p.UID]; ok && newer(at, p.ResourceVersion) {
			return fmt.Errorf("plans on pod %s as it was before our own write", p.Name)
		}
		available[p.Name] = true
	}
	before := len(available)
	for i := range plan.Delete {
		delete(available, plan.Delete[i].Pod.Name)
	}
	for i := range plan.Change {
		c := &plan.Change[i]
		if available[c.Pod.Name] && takesAway(c.Pod, c) {
			s.disrupted[c.Pod.UID] = c.Pod.ResourceVersion
			delete(available, c.Pod.Name)
		}
	}
	budget := rules.Members.(*podset.Replicas).Budget
	floor := budget.Replicas - budget.MaxUnavailable
	if len(available) < before && len(available) < floor {
		return fmt.Errorf("%d pods available of %d before, floor %d: %s", len(available), before, floor, describePlan(plan))
	}
	return nil
}

func newer(a, b string) bool {
	return len(a) > len(b) || len(a) == len(b) && a > b
}

// checkSurge: a creation never leads above replicas + maxSurge, by the truth.
func (s *sim) checkSurge(rules *podset.Rules, plan *podset.Plan) error {
	if len(plan.Create) == 0 {
		return nil
	}
	budget := rules.Members.(*podset.Replicas).Budget
	active := 0
	for _, pod := range s.Truth() {
		leaving := pods.LifecycleState(pod) == appsv1beta1.LifecycleStatePreparingDelete && budget.ExcludePreparingDelete
		if pods.IsActive(pod) && !leaving {
			active++
		}
	}
	if total := active + len(plan.Create); total > budget.Replicas+budget.MaxSurge {
		return fmt.Errorf("%d pods after creating %d: replicas %d, maxSurge %d", total, len(plan.Create), budget.Replicas, budget.MaxSurge)
	}
	return nil
}

// checkRevisions: pods are made of the two revisions asked for, and neither creation nor update
// brings more than replicas - partition pods to the update revision, but for those being replaced.
func (s *sim) checkRevisions(snapshot *podset.Snapshot, rules *podset.Rules, plan *podset.Plan) error {
	budget := rules.Members.(*podset.Replicas).Budget
	updated, leaving, moved := 0, 0, 0
	for _, pod := range snapshot.Pods {
		if !pods.IsActive(pod) {
			continue
		}
		out := pods.IsSpecifiedDelete(pod) || pods.LifecycleState(pod) == appsv1beta1.LifecycleStatePreparingDelete
		if out {
			leaving++
		}
		if pods.SameRevision(pods.Revision(pod), snapshot.Update.Name) {
			updated++
		}
	}
	for i := range plan.Create {
		switch plan.Create[i].Revision.Name {
		case snapshot.Update.Name:
			moved++
		case snapshot.Current.Name:
			if budget.Partition == 0 && leaving == 0 {
				return fmt.Errorf("a pod of the old revision with partition 0")
			}
		default:
			return fmt.Errorf("a pod of revision %s, which nobody asked for", plan.Create[i].Revision.Name)
		}
	}
	for i := range plan.Change {
		if c := &plan.Change[i]; c.Kind == podset.UpdateInPlace && c.Revision == snapshot.Update.Name {
			moved++
		}
	}
	if bound := budget.Replicas - budget.Partition + leaving; moved > 0 && updated+moved > bound && !budget.SameRevision {
		return fmt.Errorf("%d pods of the new revision, %d allowed: %s", updated+moved, bound, describePlan(plan))
	}
	return nil
}

// checkOrderOfWrites: containers change only behind a closed gate, and a gate opens only on a pod whose update is complete.
func (s *sim) checkOrderOfWrites(plan *podset.Plan) error {
	for i := range plan.Change {
		c := &plan.Change[i]
		after := *c.Pod
		for j := range c.Writes {
			patch := &c.Writes[j].Patch
			if len(patch.Images) > 0 && !closed(&after) {
				return fmt.Errorf("pod %s: containers change behind an open gate", c.Pod.Name)
			}
			opens := len(patch.Conditions) > 0 && patch.Conditions[0].Status == corev1.ConditionTrue
			if opens && !inplace.IsComplete(&after) {
				return fmt.Errorf("pod %s: the gate opens before the update is complete", c.Pod.Name)
			}
			patch.ApplyTo(&after)
		}
	}
	return nil
}

func closed(pod *corev1.Pod) bool {
	c := pods.Condition(pod, appsv1beta1.InPlaceUpdateReady)
	return c != nil && c.Status == corev1.ConditionFalse
}

func describePlan(plan *podset.Plan) string {
	return fmt.Sprintf("create %d, delete %d, change %d", len(plan.Create), len(plan.Delete), len(plan.Change))
}

// converged says how the set differs from what was asked for, once nothing moves any more.
func (s *sim) converged() error {
	set := withDefaults(s.set)
	rules, err := rulesOf(set, situation{sameRevision: s.update == s.current()}, &s.options, s.differs)
	if err != nil {
		return err
	}
	view, _ := podset.Look(&podset.Snapshot{Now: s.Now, Pods: s.Truth(), Update: s.update, Current: s.current(), Revisions: s.revisions}, &rules)
	budget := rules.Members.(*podset.Replicas).Budget
	available, updated := 0, 0
	for i := range view.Active {
		p := &view.Active[i]
		if p.Available {
			available++
		}
		if p.Updated {
			updated++
		}
		if state, _ := inplace.ReadState(p.Pod); state != nil && !inplace.IsComplete(p.Pod) {
			return fmt.Errorf("pod %s: update not complete", p.Name)
		}
	}
	switch {
	case len(view.Active) != budget.Replicas || available != budget.Replicas:
		return fmt.Errorf("at rest with %d pods, %d available, of %d", len(view.Active), available, budget.Replicas)
	case updated < budget.Replicas-budget.Partition:
		return fmt.Errorf("at rest with %d updated of %d", updated, budget.Replicas-budget.Partition)
	case len(view.Finished) > keepFinished:
		return fmt.Errorf("at rest with %d dead pods", len(view.Finished))
	}
	return nil
}
