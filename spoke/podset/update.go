// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/lifecycle"
)

// graceMessage is the same for all pods in their grace period.
const graceMessage = "containers are changed after the grace period"

// update starts the selected pods on their way.
func (p *planner) update(selection Selection) {
	for _, wait := range selection.Waits {
		p.waits.add(wait)
	}
	for _, at := range selection.Take {
		pod := &p.Active[at]
		if p.touched[pod.Name] || pod.Specified {
			continue
		}
		p.updatePod(pod.Pod, selection)
		if p.touched[pod.Name] {
			p.plan.Starts = append(p.plan.Starts, pod.Pod)
		}
	}
}

func (p *planner) updatePod(pod *corev1.Pod, selection Selection) {
	verdict := p.verdict(pod, selection)
	switch {
	case verdict.Spec != nil:
		p.updateInPlace(pod, verdict.Spec, selection)
	case p.Rules.Update.Policy == InPlaceOnly:
		p.waits.add(Wait{Reason: WaitInPlaceImpossible, Message: "policy InPlaceOnly, but " + verdict.Because, Pods: []string{pod.Name}, Failed: true})
	default:
		p.recreate(pod, cmp.Or(verdict.Because, "policy ReCreate"))
	}
}

// recreate has a pod replaced. Where the replacement comes first, or a hook holds the pod, it is marked as one to be
// deleted, and scaling does the rest; else it can go at once, which saves a write.
func (p *planner) recreate(pod *corev1.Pod, reason string) {
	step := lifecycle.Next(lifecycle.Delete, lifecycle.Observed{Pod: pod, Hooks: p.Rules.Lifecycle})
	if !p.Rules.Update.ReplaceFirst && step.Action == lifecycle.Remove {
		p.touched[pod.Name] = true
		p.plan.Delete = append(p.plan.Delete, Delete{Pod: pod, ForUpdate: true, Reason: reason})
		return
	}
	var patch podpatch.Patch
	patch.Label(appsv1beta1.SpecifiedDeleteKey, "true")
	p.change(MarkForRecreate, pod, patch, reason)
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
		p.waits.add(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}})
	case lifecycle.Refuse:
		p.waits.add(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}, Failed: true})
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
		p.waits.add(Wait{Reason: WaitBroken, Message: err.Error(), Pods: []string{pod.Name}, Failed: true})
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
		p.waits.add(Wait{Reason: WaitGrace, Message: graceMessage, Pods: []string{pod.Name}, After: begin.After, Until: p.Now.Add(begin.After)})
	}
}
