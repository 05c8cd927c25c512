// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
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
	// WaitScheduling: pods have no node yet.
	WaitScheduling = "PodsNotScheduled"
	// WaitReadiness: pods have a node and are not ready.
	WaitReadiness = "PodsNotReady"
	// WaitBudget: a PodUnavailableBudget lets no more pods be updated now.
	WaitBudget = "PodUnavailableBudget"
	// WaitPaused: somebody paused the rollout; WaitOnDelete: pods are updated when somebody deletes them. Kinds say
	// so by Rules.Update.Hold.
	WaitPaused   = "Paused"
	WaitOnDelete = "OnDelete"
)

// order of reasons, most telling first: who must do something comes before what passes by itself.
var order = []string{
	WaitHook, WaitPaused, WaitOnDelete, WaitScaleUpLimited, WaitBudget, WaitMaxUnavailable, WaitClaims, WaitDeletions,
	WaitGrace, WaitInPlace, WaitScheduling, WaitReadiness, WaitMinReady, WaitPartition,
}

// Wait is something the plan does not do yet. Of one that is waited for by the clock, Until is in the
// message of nobody, so that many pods make one wait.
type Wait struct {
	// Reason is one CamelCase word, Message a sentence that is the same from pass to pass.
	Reason, Message string
	// Pods concerned, by name.
	Pods []string
	// Until is when the first of the pods need not be waited for any more; zero when that is not known.
	Until time.Time
	// After is when time alone changes the answer; 0 when an event will tell.
	After time.Duration
	// Failed marks what will not get better by waiting.
	Failed bool
}

// waits by reason and message, so that many pods waiting for the same make one sentence.
type waits map[string]*Wait

// add joins a wait of the same reason and message; the soonest time wins.
func (l waits) add(w Wait) {
	key := w.Reason + "\x00" + w.Message
	have, ok := l[key]
	if !ok {
		w.Pods = slices.Clip(w.Pods)
		l[key] = &w
		return
	}
	have.Pods = append(have.Pods, w.Pods...)
	have.After = sooner(have.After, w.After)
	have.Failed = have.Failed || w.Failed
	if have.Until.IsZero() || !w.Until.IsZero() && w.Until.Before(have.Until) {
		have.Until = w.Until
	}
}

// sorted puts failures first, then goes by order, then by message.
func (l waits) sorted() []Wait {
	out := make([]Wait, 0, len(l))
	for _, w := range l {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(place(&a), place(&b)), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return out
}

func place(w *Wait) int {
	if w.Failed {
		return -1
	}
	if at := slices.Index(order, w.Reason); at >= 0 {
		return at
	}
	return len(order)
}

func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// hold says why pods that should move to another revision do not.
func (p *planner) hold(selection Selection) {
	if len(selection.Wanted) == 0 && len(selection.Waits) == 0 {
		return
	}
	held := *p.Rules.Update.Hold
	for _, at := range selection.Wanted {
		held.Pods = append(held.Pods, p.Active[at].Name)
	}
	p.waits.add(held)
}

// waitForMinReady names the pods that only time keeps from being available.
func (p *planner) waitForMinReady(soonest time.Duration) {
	w := Wait{
		Reason: WaitMinReady, Message: "ready pods count as available after minReadySeconds (" + p.Rules.MinReady.String() + ")",
		After: soonest, Until: p.Now.Add(soonest),
	}
	for i := range p.Active {
		if pod := &p.Active[i]; pod.Ready && !pod.Available {
			w.Pods = append(w.Pods, pod.Name)
		}
	}
	p.waits.add(w)
}

const unplacedMessage = "the scheduler has not placed these pods yet"

// waitForNode tells of a pod that the scheduler has not placed. Its own words are left to the pod: they
// change with every node.
func (p *planner) waitForNode(pod *corev1.Pod) {
	c := pods.Condition(pod, corev1.PodScheduled)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason == "" {
		p.unplaced = append(p.unplaced, pod.Name)
		return
	}
	p.waits.add(Wait{Reason: WaitScheduling, Message: unplacedMessage + " (" + c.Reason + ")", Pods: []string{pod.Name}})
}

// waitForReadiness tells of a pod that runs and is not ready, and which readiness gates keep it from that.
func (p *planner) waitForReadiness(pod *corev1.Pod) {
	closed := ""
	if c := pods.Condition(pod, corev1.ContainersReady); c != nil && c.Status == corev1.ConditionTrue {
		closed = closedGates(pod)
	}
	if closed == "" {
		p.unready = append(p.unready, pod.Name)
		return
	}
	p.waits.add(Wait{Reason: WaitReadiness, Message: "pods are not ready though their containers are: readiness gate " + closed, Pods: []string{pod.Name}})
}

// waitForPods tells of the pods that share the commonest waits, which may be all there are.
func (p *planner) waitForPods() {
	if len(p.unplaced) > 0 {
		p.waits.add(Wait{Reason: WaitScheduling, Message: unplacedMessage, Pods: p.unplaced})
	}
	if len(p.unready) > 0 {
		p.waits.add(Wait{Reason: WaitReadiness, Message: "pods are not ready", Pods: p.unready})
	}
}

// closedGates are the readiness gates of others than us whose conditions are not True.
func closedGates(pod *corev1.Pod) string {
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == appsv1beta1.InPlaceUpdateReady {
			continue // opened by ourselves, in the same pass
		}
		if c := pods.Condition(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			closed = append(closed, string(gate.ConditionType))
		}
	}
	return strings.Join(closed, ", ")
}

// unavailable names the pods that use up a budget.
func unavailable(active []rollout.Pod) []string {
	var out []string
	for i := range active {
		if !active[i].Available {
			out = append(out, active[i].Name)
		}
	}
	return out
}
