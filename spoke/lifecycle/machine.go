// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// State is where a pod stands in its life.
type State = appsv1beta1.LifecycleStateType

// Wish is what the workload wants of the pod now.
type Wish int

const (
	// Keep wants nothing new: steps under way go on.
	Keep Wish = iota
	// Update wants an in-place update to start.
	Update
	// Delete wants the pod gone.
	Delete
	// Revive wants a pod that waits for its deletion back.
	Revive
)

// Action is what the caller does together with the state change.
type Action int

const (
	// Nothing beyond the state change.
	Nothing Action = iota
	// Start starts the in-place update.
	Start
	// Remove deletes the pod.
	Remove
	// Wait means a hook holds the pod; Step.Reason tells which.
	Wait
	// Refuse means the wish cannot be granted in this state.
	Refuse
)

// Observed is what the machine needs to know.
type Observed struct {
	Pod *corev1.Pod
	// Hooks of the workload, may be nil.
	Hooks *appsv1beta1.Lifecycle
	// AtTarget says that the pod carries the revision it should have.
	AtTarget bool
	// Unwanted says that the pod shall keep its revision after all, as when a partition was raised.
	Unwanted bool
	// UpdateDone says that no in-place update is under way.
	UpdateDone bool
	// NormalAtOnce lets a pod without preNormal hook become Normal before it is scheduled.
	NormalAtOnce bool
}

// Step is the machine's answer. To equals the present state when nothing changes.
type Step struct {
	To     State
	Action Action
	// Reason says in a sentence why, for events and conditions.
	Reason string
}

// Next decides one step of the table in the package comment.
func Next(wish Wish, o Observed) Step {
	switch wish {
	case Keep:
		return keep(o)
	case Update:
		return update(o)
	case Delete:
		return remove(o)
	case Revive:
		state := pods.LifecycleState(o.Pod)
		if state == appsv1beta1.LifecycleStatePreparingDelete {
			return Step{To: appsv1beta1.LifecycleStatePreparingNormal, Reason: "its deletion is no longer needed"}
		}
		return Step{To: state}
	default:
		panic(fmt.Sprintf("unknown wish %d", wish))
	}
}

func keep(o Observed) Step {
	state := pods.LifecycleState(o.Pod)
	stay := Step{To: state}
	switch state {
	case "", appsv1beta1.LifecycleStateNormal, appsv1beta1.LifecycleStatePreparingDelete:
		return stay
	case appsv1beta1.LifecycleStatePreparingNormal:
		return leavePreparingNormal(o, stay)
	case appsv1beta1.LifecycleStatePreparingUpdate:
		switch {
		case o.AtTarget:
			return afterUpdate(o, "it already has the wanted revision")
		case o.Unwanted:
			return afterUpdate(o, "its update is not wanted any more")
		}
		return stay
	case appsv1beta1.LifecycleStateUpdating:
		if !o.UpdateDone {
			return stay
		}
		return afterUpdate(o, "its in-place update is done")
	case appsv1beta1.LifecycleStateUpdated:
		return leaveUpdated(o, stay)
	default:
		stay.Action, stay.Reason = Wait, fmt.Sprintf("lifecycle state %q is unknown: take label %s off, or put it right", state, appsv1beta1.LifecycleStateKey)
		return stay
	}
}

func leavePreparingNormal(o Observed, stay Step) Step {
	hook := preNormal(o.Hooks)
	if hook == nil {
		if o.Pod.Spec.NodeName == "" && !o.NormalAtOnce {
			return stay
		}
		return Step{To: appsv1beta1.LifecycleStateNormal, Reason: "it is scheduled"}
	}
	complete, missing := Complete(hook, o.Pod)
	if complete {
		return Step{To: appsv1beta1.LifecycleStateNormal, Reason: "its preNormal hook is complete"}
	}
	stay.Action, stay.Reason = Wait, "preNormal hook: waits for "+missing
	return stay
}

func leaveUpdated(o Observed, stay Step) Step {
	hook := inPlaceUpdate(o.Hooks)
	if hook == nil {
		return Step{To: appsv1beta1.LifecycleStateNormal, Reason: "it has no inPlaceUpdate hook"}
	}
	complete, missing := Complete(hook, o.Pod)
	if complete {
		return Step{To: appsv1beta1.LifecycleStateNormal, Reason: "its inPlaceUpdate hook is back"}
	}
	stay.Action, stay.Reason = Wait, "inPlaceUpdate hook: waits to get back "+missing
	return stay
}

func afterUpdate(o Observed, reason string) Step {
	complete, _ := Complete(inPlaceUpdate(o.Hooks), o.Pod)
	if o.Hooks == nil || complete {
		return Step{To: appsv1beta1.LifecycleStateNormal, Reason: reason}
	}
	return Step{To: appsv1beta1.LifecycleStateUpdated, Reason: reason}
}

func update(o Observed) Step {
	state := pods.LifecycleState(o.Pod)
	hook := inPlaceUpdate(o.Hooks)
	held, by := Held(hook, o.Pod)
	switch state {
	case "", appsv1beta1.LifecycleStateNormal, appsv1beta1.LifecycleStatePreparingNormal:
		if held {
			return Step{To: appsv1beta1.LifecycleStatePreparingUpdate, Reason: "inPlaceUpdate hook held by " + by}
		}
		return Step{To: appsv1beta1.LifecycleStateUpdating, Action: Start}
	case appsv1beta1.LifecycleStatePreparingUpdate:
		if held {
			return Step{To: state, Action: Wait, Reason: "inPlaceUpdate hook held by " + by}
		}
		return Step{To: appsv1beta1.LifecycleStateUpdating, Action: Start}
	case appsv1beta1.LifecycleStateUpdating:
		return Step{To: state, Action: Start}
	case appsv1beta1.LifecycleStateUpdated:
		if hook == nil {
			return Step{To: state, Action: Wait, Reason: "its last update is being closed"}
		}
		return Step{To: appsv1beta1.LifecycleStatePreparingUpdate, Reason: "it must be updated again"}
	case appsv1beta1.LifecycleStatePreparingDelete:
		return Step{To: state, Action: Refuse, Reason: "it waits for its deletion"}
	default:
		return Step{To: state, Action: Refuse, Reason: fmt.Sprintf("lifecycle state %q is unknown", state)}
	}
}

func remove(o Observed) Step {
	held, by := Held(preDelete(o.Hooks), o.Pod)
	if !held {
		return Step{To: pods.LifecycleState(o.Pod), Action: Remove}
	}
	step := Step{To: appsv1beta1.LifecycleStatePreparingDelete, Reason: "preDelete hook held by " + by}
	if pods.LifecycleState(o.Pod) == step.To {
		step.Action = Wait
	}
	return step
}

// Patch renders the change from the pod's present state to step.To: label, timestamp, the hook put
// back where the table says so, and the readiness keys. It is empty when nothing changes.
func Patch(o Observed, step Step, now time.Time) podpatch.Patch {
	var patch podpatch.Patch
	from := pods.LifecycleState(o.Pod)
	if step.To != "" && step.To != from {
		patch.Label(appsv1beta1.LifecycleStateKey, string(step.To))
		patch.Annotate(appsv1beta1.LifecycleTimestampKey, now.UTC().Format(time.RFC3339))
	}
	if from == appsv1beta1.LifecycleStateUpdated && step.To == appsv1beta1.LifecycleStatePreparingUpdate {
		restoreHook(&patch, inPlaceUpdate(o.Hooks))
	}
	patch.Merge(readinessPatch(o, step.To, now))
	return patch
}

func restoreHook(patch *podpatch.Patch, hook *appsv1beta1.LifecycleHook) {
	if hook == nil {
		return
	}
	for key, value := range hook.LabelsHandler {
		patch.Label(key, value)
	}
	patch.Finalizers = append(patch.Finalizers, hook.FinalizersHandler...)
}
