// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/internal/events"
)

// EventReleased is the reason of the event on a pod that some of its containers may start now.
const EventReleased = "ContainersReleased"

func released(pod *corev1.Pod, step Step) events.Event {
	return events.Normal(pod, EventReleased, "LaunchContainers",
		fmt.Sprintf("containers %s of priority %d may start: those of higher priority are ready", strings.Join(step.Containers, ", "), step.Level))
}
