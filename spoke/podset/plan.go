// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/lifecycle"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// Reasons of waits that this package itself gives.
const (
	// WaitMinReady: ready pods must stay ready for minReadySeconds.
	WaitMinReady = "MinReadySeconds"
	// WaitHook: a lifecycle hook holds a pod.
	WaitHook = "LifecycleHook"
	// WaitInPlace: containers do not run what the pod says yet.
	WaitInPlace = "InPlaceUpdateRunning"
	// WaitGrace: a pod's grace period runs.
	WaitGrace = "GracePeriod"
	// WaitBroken: a pod's in-place annotations cannot be read.
	WaitBroken = "InPlaceStateUnreadable"
	// WaitInPlaceImpossible: the policy forbids recreation and the change forbids in place.
	WaitInPlaceImpossible = "InPlaceUpdateImpossible"
)

// planner collects one plan.
type planner struct {
	*View
	plan    Plan
	touched map[string]bool
	// waits by reason, so that many pods waiting for the same make one sentence.
	waits map[string]*Wait
}

// Make plans one pass.
func Make(s *Snapshot, r *Rules) Plan {
	view, soonest := Look(s, r)
	p := &planner{View: view, touched: map[string]bool{}, waits: map[string]*Wait{}}
	p.scale(r.Members.Scale(view))
	moved := !p.plan.Empty()
	selection := r.Members.Select(view)
	p.refresh(selection)
	switch {
	case moved:
	case r.Update.Hold != nil:
		if len(selection.Take) > 0 || len(selection.Waits) > 0 {
			p.wait(*r.Update.Hold)
		}
	default:
		p.update(selection)
	}
	p.tidy()
	if soonest > 0 {
		p.wait(Wait{Reason: WaitMinReady, Message: "ready pods are not available before minReadySeconds have passed", After: soonest})
	}
	p.plan.Waits = p.sortedWaits()
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
		p.wait(wait)
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
		p.wait(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}})
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

// refresh moves what is under way on every active pod on by one step.
func (p *planner) refresh(selection Selection) {
	wanted := make([]bool, len(p.Active))
	for _, at := range selection.Wanted {
		wanted[at] = true
	}
	for i := range p.Active {
		if pod := p.Active[i].Pod; !p.touched[pod.Name] {
			p.refreshPod(pod, selection, wanted[i])
		}
	}
}

func (p *planner) refreshPod(pod *corev1.Pod, selection Selection, wanted bool) {
	progress := inplace.Advance(pod, p.Now)
	p.waitForProgress(pod, &progress)
	target := selection.Target
	if target == nil {
		target = p.Update
	}
	observed := lifecycle.Observed{
		Pod: pod, Hooks: p.Rules.Lifecycle, NormalAtOnce: p.Rules.NormalAtOnce,
		AtTarget:   target != nil && pods.SameRevision(pods.Revision(pod), target.Name),
		Unwanted:   p.Rules.Update.OnDelete || !wanted && !selection.Unknown && p.Rules.Update.Hold == nil,
		UpdateDone: progress.Finished(),
	}
	step := lifecycle.Next(lifecycle.Keep, observed)
	if step.Action == lifecycle.Wait {
		p.wait(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}})
	}
	if pod.Spec.NodeName == "" && progress.Finished() {
		// Nobody reads the gate of a pod without a node: one write later does it all.
		progress.Patch = podpatch.Patch{}
	}
	patch := progress.Patch
	patch.Merge(lifecycle.Patch(observed, step, p.Now))
	p.backfillLabels(pod, &patch)
	if patch.Empty() {
		return
	}
	p.touched[pod.Name] = true
	p.plan.Change = append(p.plan.Change, Change{
		Kind: Refresh, Pod: pod, Writes: writes(pod, patch, onlyFor(&progress)),
		Revision: pods.Revision(pod), Reason: cmp.Or(step.Reason, progress.Reason),
	})
}

// onlyFor keeps a gate that opens after an update to the version whose completion was checked. The
// first opening of a new pod's gate can overwrite nothing.
func onlyFor(progress *inplace.Progress) Only {
	switch {
	case len(progress.Patch.Conditions) == 0:
		return SameContent
	case progress.Phase == inplace.Idle:
		return SamePod
	default:
		return SameVersion
	}
}

// backfillLabels gives the pod the revision labels it lacks.
func (p *planner) backfillLabels(pod *corev1.Pod, patch *podpatch.Patch) {
	r := p.RevisionOf(pod)
	if r == nil || p.Rules.RevisionLabels == nil {
		return
	}
	for key, value := range p.Rules.RevisionLabels(r) {
		if _, ok := pod.Labels[key]; !ok {
			patch.Label(key, value)
		}
	}
}

func (p *planner) waitForProgress(pod *corev1.Pod, progress *inplace.Progress) {
	names := []string{pod.Name}
	switch progress.Phase {
	case inplace.InGracePeriod:
		p.wait(Wait{Reason: WaitGrace, Message: progress.Reason, Pods: names, After: progress.After})
	case inplace.Restarting:
		p.wait(Wait{Reason: WaitInPlace, Message: progress.Reason, Pods: names})
	case inplace.Broken:
		p.wait(Wait{Reason: WaitBroken, Message: progress.Reason, Pods: names, Failed: true})
	case inplace.Idle, inplace.NextBatch, inplace.Done:
	}
}

// update starts the selected pods on their way.
func (p *planner) update(selection Selection) {
	for _, wait := range selection.Waits {
		p.wait(wait)
	}
	for _, at := range selection.Take {
		pod := &p.Active[at]
		if p.touched[pod.Name] || pod.Specified {
			continue
		}
		verdict := p.verdict(pod.Pod, selection)
		switch {
		case verdict.Spec != nil:
			p.updateInPlace(pod.Pod, verdict.Spec, selection)
		case p.Rules.Update.Policy == InPlaceOnly:
			p.wait(Wait{Reason: WaitInPlaceImpossible, Message: "policy InPlaceOnly, but " + verdict.Because, Pods: []string{pod.Name}, Failed: true})
		default:
			var patch podpatch.Patch
			patch.Label(appsv1beta1.SpecifiedDeleteKey, "true")
			p.change(MarkForRecreate, pod.Pod, patch, cmp.Or(verdict.Because, "policy ReCreate"))
		}
	}
}

func (p *planner) verdict(pod *corev1.Pod, selection Selection) inplace.Verdict {
	if p.Rules.Update.Policy == Recreate || p.Rules.Update.Differ == nil {
		return inplace.Verdict{}
	}
	return p.Rules.Update.Differ.Diff(p.RevisionOf(pod), selection.Target)
}

func (p *planner) updateInPlace(pod *corev1.Pod, spec *inplace.Spec, selection Selection) {
	observed := lifecycle.Observed{Pod: pod, Hooks: p.Rules.Lifecycle}
	step := lifecycle.Next(lifecycle.Update, observed)
	patch := lifecycle.Patch(observed, step, p.Now)
	switch step.Action {
	case lifecycle.Nothing:
		p.change(PrepareUpdate, pod, patch, step.Reason)
	case lifecycle.Wait:
		p.change(PrepareUpdate, pod, patch, step.Reason)
		p.wait(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}})
	case lifecycle.Refuse:
		p.wait(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}, Failed: true})
	case lifecycle.Start:
		p.start(pod, spec, patch, selection)
	case lifecycle.Remove:
		panic("a wish to update never removes")
	}
}

func (p *planner) start(pod *corev1.Pod, spec *inplace.Spec, state podpatch.Patch, selection Selection) {
	todo := *spec
	todo.GraceSeconds = p.Rules.Update.GraceSeconds
	labels := p.Rules.RevisionLabels(selection.Target)
	todo.Revision = labels[appsv1beta1.ControllerRevisionHashLabel]
	begin, err := inplace.Start(pod, &todo, p.Now)
	if err != nil {
		p.wait(Wait{Reason: WaitBroken, Message: err.Error(), Pods: []string{pod.Name}, Failed: true})
		return
	}
	begin.Change.Merge(state)
	for key, value := range labels {
		begin.Change.Label(key, value)
	}
	p.touched[pod.Name] = true
	list := writes(pod, begin.CloseGate, SamePod)
	p.plan.Change = append(p.plan.Change, Change{
		Kind: UpdateInPlace, Pod: pod, Writes: append(list, writes(pod, begin.Change, SameContent)...),
		Revision: selection.Target.Name, Reason: "revision " + selection.Target.Name + " can be reached in place",
	})
	if begin.After > 0 {
		p.wait(Wait{Reason: WaitGrace, Message: "grace period before containers change", Pods: []string{pod.Name}, After: begin.After})
	}
}

// tidy deletes finished pods beyond those to keep, oldest first.
func (p *planner) tidy() {
	keep := p.Rules.KeepFinished
	if keep < 0 || len(p.Finished) <= keep {
		return
	}
	finished := slices.Clone(p.Finished)
	slices.SortStableFunc(finished, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, pod := range finished[:len(finished)-keep] {
		p.plan.Delete = append(p.plan.Delete, Delete{Pod: pod, Reason: fmt.Sprintf("it is %s and has been replaced", pod.Status.Phase)})
	}
}

// wait adds to the wait of the same reason and message; the soonest time wins.
func (p *planner) wait(w Wait) {
	key := w.Reason + "\x00" + w.Message
	have, ok := p.waits[key]
	if !ok {
		p.waits[key] = &w
		return
	}
	have.Pods = append(have.Pods, w.Pods...)
	have.After = sooner(have.After, w.After)
	have.Failed = have.Failed || w.Failed
}

func (p *planner) sortedWaits() []Wait {
	out := make([]Wait, 0, len(p.waits))
	for _, w := range p.waits {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return out
}

func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
