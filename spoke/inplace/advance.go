// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Phase of an in-place update; the package comment has the table.
type Phase int

// The phases.
const (
	Idle Phase = iota
	InGracePeriod
	Restarting
	NextBatch
	Done
	Broken
)

// Progress is what to do about a pod's in-place update now.
type Progress struct {
	Phase Phase
	// Patch to send, may be empty. In phase Done it holds only for the version looked at.
	Patch podpatch.Patch
	// After is when to look again, 0 when an event will tell.
	After time.Duration
	// Reason says what is waited for, for people to read.
	Reason string
}

// Finished says whether no update is under way.
func (p *Progress) Finished() bool { return p.Phase == Idle || p.Phase == Done }

// Advance looks at a pod and returns the next step of its in-place update.
func Advance(pod *corev1.Pod, now time.Time) Progress {
	state, err := ReadState(pod)
	if err != nil {
		return Progress{Phase: Broken, Reason: err.Error()}
	}
	grace, err := ReadGrace(pod)
	if err != nil {
		return Progress{Phase: Broken, Reason: err.Error()}
	}
	switch phase := observe(pod, state, grace, now); phase {
	case InGracePeriod:
		left := graceLeft(state, grace, now)
		return Progress{Phase: phase, After: left, Reason: fmt.Sprintf("grace period until %s",
			now.Add(left).UTC().Format(time.RFC3339))}
	case NextBatch:
		return nextBatch(pod, state, grace, now)
	case Restarting:
		_, why := containersDone(pod, state)
		if why == "" {
			why = "containers of the last batch are not ready: " + strings.Join(notReady(pod, state), ", ")
		}
		return Progress{Phase: phase, Reason: why}
	case Idle, Done:
		return finish(pod, state, phase, now)
	case Broken:
		return Progress{Phase: phase, Reason: "a grace period is recorded without the state of its update"}
	default:
		panic(fmt.Sprintf("unknown phase %d", phase))
	}
}

// observe tells in which phase the pod is.
func observe(pod *corev1.Pod, state *State, grace *Spec, now time.Time) Phase {
	if grace != nil {
		switch {
		case !pods.SameRevision(pods.Revision(pod), grace.Revision):
			return NextBatch
		case state == nil:
			return Broken
		case graceLeft(state, grace, now) > 0:
			return InGracePeriod
		default:
			return NextBatch
		}
	}
	if state == nil {
		return Idle
	}
	if done, _ := containersDone(pod, state); !done {
		return Restarting
	}
	if !state.hasNext(pod) {
		return Done
	}
	if len(notReady(pod, state)) > 0 {
		return Restarting
	}
	return NextBatch
}

func nextBatch(pod *corev1.Pod, state *State, grace *Spec, now time.Time) Progress {
	out := Progress{Phase: NextBatch}
	if grace != nil && !pods.SameRevision(pods.Revision(pod), grace.Revision) {
		dropGrace(&out.Patch)
		return out
	}
	spec := state.next(pod)
	if grace != nil {
		spec = *grace
	}
	patch, err := patchBatch(pod, &spec, state, now)
	if err != nil {
		return Progress{Phase: Broken, Reason: err.Error()}
	}
	out.Patch = patch
	if grace != nil {
		dropGrace(&out.Patch)
	}
	return out
}

// finish opens the gate, and takes back what is written of resources: from now on they are whoever's.
func finish(pod *corev1.Pod, state *State, phase Phase, now time.Time) Progress {
	out := openGate(pod, phase, now)
	if state == nil || len(state.NextContainerResources) == 0 {
		return out
	}
	done := *state
	done.NextContainerResources = nil
	if err := writeState(&out.Patch, &done); err != nil {
		return Progress{Phase: Broken, Reason: err.Error()}
	}
	return out
}

// openGate sets the gate's condition to plain True where it is anything else.
func openGate(pod *corev1.Pod, phase Phase, now time.Time) Progress {
	out := Progress{Phase: phase}
	if !pods.HasReadinessGate(pod, appsv1beta1.InPlaceUpdateReady) {
		return out
	}
	c := pods.Condition(pod, appsv1beta1.InPlaceUpdateReady)
	if c != nil && c.Status == corev1.ConditionTrue && c.Reason == "" && c.Message == "" {
		return out
	}
	out.Patch.Conditions = []corev1.PodCondition{{
		Type: appsv1beta1.InPlaceUpdateReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now),
	}}
	return out
}

// graceLeft is rounded up to a whole second; zero or less when the period is over.
func graceLeft(state *State, grace *Spec, now time.Time) time.Duration {
	end := state.UpdateTimestamp.Add(time.Duration(grace.GraceSeconds) * time.Second)
	return time.Duration(math.Ceil(end.Sub(now).Seconds())) * time.Second
}

// notReady returns the containers that must be ready before the next batch and are not.
func notReady(pod *corev1.Pod, state *State) []string {
	if state.PreCheckBeforeNext == nil {
		return nil
	}
	ready := map[string]bool{}
	for i := range pod.Status.ContainerStatuses {
		ready[pod.Status.ContainerStatuses[i].Name] = pod.Status.ContainerStatuses[i].Ready
	}
	var out []string
	for _, name := range state.PreCheckBeforeNext.ContainersRequiredReady {
		if !ready[name] {
			out = append(out, name)
		}
	}
	return out
}
