// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/lifecycle"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// planner collects one plan.
type planner struct {
	*View
	plan    Plan
	touched map[string]bool
	waits   waits
	// labels of pods by the name of their revision.
	labels map[string]map[string]string
	// unplaced and unready are pods without a node, and without readiness, with nothing more to say of them.
	unplaced, unready []string
}

// Make plans one pass.
func Make(s *Snapshot, r *Rules) Plan {
	view, soonest := Look(s, r)
	p := &planner{View: view, touched: map[string]bool{}, waits: waits{}, labels: map[string]map[string]string{}}
	p.scale(r.Members.Scale(view))
	moved := !p.plan.Empty()
	selection := r.Members.Select(view)
	p.refresh(selection)
	switch {
	case moved:
	case r.Update.Hold != nil:
		p.hold(selection)
	default:
		p.update(selection)
	}
	p.tidy()
	if soonest > 0 {
		p.waitForMinReady(soonest)
	}
	p.waitForPods()
	p.plan.Waits = p.waits.sorted()
	return p.plan
}

func (p *planner) scale(s Scale) {
	p.plan.Create = s.Create
	for _, at := range s.Revive {
		p.lifecycle(&p.Active[at], lifecycle.Revive, Revive, "")
	}
	for _, removal := range s.Remove {
		p.lifecycle(&p.Active[removal.At], lifecycle.Delete, PrepareDelete, removal.Reason)
	}
	for _, wait := range s.Waits {
		p.waits.add(wait)
	}
}

// lifecycle makes the move that the wish takes now: a deletion, a change of state, or a wait.
func (p *planner) lifecycle(pod *rollout.Pod, wish lifecycle.Wish, kind ChangeKind, reason string) {
	observed := lifecycle.Observed{Pod: pod.Pod, Hooks: p.Rules.Lifecycle}
	step := lifecycle.Next(wish, observed)
	if step.Action == lifecycle.Remove {
		p.touched[pod.Name] = true
		p.plan.Delete = append(p.plan.Delete, Delete{Pod: pod.Pod, Reason: reason})
		return
	}
	if step.Action == lifecycle.Wait {
		p.waits.add(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}})
	}
	patch := lifecycle.Patch(observed, step, p.Now)
	p.change(kind, pod.Pod, patch, cmp.Or(step.Reason, reason))
}

func (p *planner) change(kind ChangeKind, pod *corev1.Pod, patch podpatch.Patch, reason string) {
	if patch.Empty() {
		return
	}
	p.touched[pod.Name] = true
	p.plan.Change = append(p.plan.Change, Change{Kind: kind, Pod: pod, Writes: writes(pod, patch, SameContent), Reason: reason})
}

func writes(pod *corev1.Pod, patch podpatch.Patch, only Only) []Write {
	var out []Write
	for _, part := range patch.Split() {
		write := Write{Patch: part, Only: only}
		if overwrites(pod, &part) {
			write.Only = SameVersion
		}
		out = append(out, write)
	}
	return out
}

// overwrites says whether the patch replaces the shared readiness switch, which others write too.
func overwrites(pod *corev1.Pod, patch *podpatch.Patch) bool {
	for i := range patch.Conditions {
		if c := patch.Conditions[i].Type; c == appsv1beta1.KruisePodReadyConditionType && pods.Condition(pod, c) != nil {
			return true
		}
	}
	return false
}

// tidy deletes finished pods that somebody asked to delete, and the oldest of those beyond the number to keep.
func (p *planner) tidy() {
	var finished []*corev1.Pod
	for _, pod := range p.Finished {
		if pods.IsSpecifiedDelete(pod) || slices.Contains(p.Rules.DropFinished, pod.Name) {
			p.plan.Delete = append(p.plan.Delete, Delete{Pod: pod, KeepClaims: true, Reason: "its deletion was asked for"})
			continue
		}
		finished = append(finished, pod)
	}
	keep := p.Rules.KeepFinished
	if keep < 0 || len(finished) <= keep {
		return
	}
	slices.SortStableFunc(finished, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, pod := range finished[:len(finished)-keep] {
		p.plan.Delete = append(p.plan.Delete, Delete{Pod: pod, KeepClaims: true, Reason: fmt.Sprintf("it is %s and has been replaced", pod.Status.Phase)})
	}
}
