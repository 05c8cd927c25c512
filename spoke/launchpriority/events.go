// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/internal/events"
)

// Reasons of the events on a pod.
const (
	// EventWaiting says which containers wait, and that the state in which the kubelet shows them is no fault.
	EventWaiting = "ContainersWaitInOrder"
	// EventReleased says that some containers may start now.
	EventReleased = "ContainersReleased"
	// EventTaken says that containers cannot start, because their ConfigMap's name belongs to somebody else's.
	EventTaken = "BarrierNameTaken"
)

// named bounds the containers that an event names: it may have 1,024 letters.
const named = 10

// eventOf is the event on a step by which a level is let go.
func eventOf(pod *corev1.Pod, step Step) events.Event {
	if step.First {
		return events.Normal(pod, EventWaiting, "LaunchContainers", fmt.Sprintf(
			"containers %s wait until all of higher priority are ready; the kubelet shows %s for them meanwhile, which is how they wait and no fault",
			list(below(pod, step.Level)), configError))
	}
	return events.Normal(pod, EventReleased, "LaunchContainers",
		fmt.Sprintf("containers %s of priority %d may start: those of higher priority are ready", list(step.Containers), step.Level))
}

// takenEvent is the event on a pod for which there can be no barrier.
func takenEvent(pod *corev1.Pod) events.Event {
	return events.Warning(pod, EventTaken, "LaunchContainers", fmt.Sprintf(
		"containers cannot start in order: ConfigMap %s is there and does not belong to this pod, so it is left alone; rename it, or give the pod another name",
		barrierOf(pod).Name))
}

// below are the containers of less than a priority, each with its own, the next to start first.
func below(pod *corev1.Pod, priority int) []string {
	levels := slices.DeleteFunc(levelsOf(pod), func(l level) bool { return l.priority >= priority })
	slices.SortStableFunc(levels, func(a, b level) int { return cmp.Compare(b.priority, a.priority) })
	out := make([]string, len(levels))
	for i, l := range levels {
		out[i] = fmt.Sprintf("%s (priority %d)", l.container, l.priority)
	}
	return out
}

func list(containers []string) string {
	if more := len(containers) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(containers[:named], ", "), more)
	}
	return strings.Join(containers, ", ")
}
