// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Withhold takes the start of these pods' updates out of the plan, and says why. What is under way goes on.
func (p *Plan) Withhold(pods []*corev1.Pod, why Wait) {
	held := map[string]bool{}
	for _, pod := range pods {
		held[pod.Name] = true
		why.Pods = append(why.Pods, pod.Name)
	}
	p.Starts = slices.DeleteFunc(p.Starts, func(pod *corev1.Pod) bool { return held[pod.Name] })
	p.Delete = slices.DeleteFunc(p.Delete, func(d Delete) bool { return d.ForUpdate && held[d.Pod.Name] })
	p.Change = slices.DeleteFunc(p.Change, func(c Change) bool { return starts(c.Kind) && held[c.Pod.Name] })
	all := waits{}
	for i := range p.Waits {
		if w := p.Waits[i]; !comesWith(&w, held) {
			all.add(w)
		}
	}
	all.add(why)
	p.Waits = all.sorted()
}

// starts says whether a change is the first of an update.
func starts(kind ChangeKind) bool {
	switch kind {
	case UpdateInPlace, PrepareUpdate, MarkForRecreate:
		return true
	case Refresh, PrepareDelete, Revive:
		return false
	default:
		return false
	}
}

// comesWith takes pods that are not updated out of a wait that comes with an update, and says whether nothing is left of
// it.
func comesWith(w *Wait, held map[string]bool) bool {
	if w.Reason != WaitGrace && w.Reason != WaitHook || w.Failed {
		return false
	}
	before := len(w.Pods)
	w.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(name string) bool { return held[name] })
	return before > 0 && len(w.Pods) == 0
}
