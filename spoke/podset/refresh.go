// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/lifecycle"
)

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
		p.waits.add(Wait{Reason: WaitHook, Message: step.Reason, Pods: []string{pod.Name}})
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
	labels, ok := p.labels[r.Name]
	if !ok {
		labels = p.Rules.RevisionLabels(r)
		p.labels[r.Name] = labels
	}
	for key, value := range labels {
		if _, ok := pod.Labels[key]; !ok {
			patch.Label(key, value)
		}
	}
}

func (p *planner) waitForProgress(pod *corev1.Pod, progress *inplace.Progress) {
	names := []string{pod.Name}
	switch progress.Phase {
	case inplace.InGracePeriod:
		p.waits.add(Wait{Reason: WaitGrace, Message: graceMessage, Pods: names, After: progress.After, Until: p.Now.Add(progress.After)})
	case inplace.Restarting:
		p.waits.add(Wait{Reason: WaitInPlace, Message: progress.Reason, Pods: names})
	case inplace.Broken:
		p.waits.add(Wait{Reason: WaitBroken, Message: progress.Reason, Pods: names, Failed: true})
	case inplace.Idle, inplace.Done:
		p.waitForPod(pod)
	case inplace.NextBatch:
	}
}

// waitForPod tells what a pod lacks that nobody is changing.
func (p *planner) waitForPod(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "":
		p.waitForNode(pod)
	case !pods.IsReady(pod):
		p.waitForReadiness(pod)
	}
}
