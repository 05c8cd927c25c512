// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const (
	maxTroubles       = 5
	maxTroubleReason  = 128
	maxTroubleMessage = 512
)

// worst counts the reasons why pods are not ready, commonest first. The message of a reason is the
// least of those there are, so that equal pods give equal reports.
func worst(views []subsetView) []fleetv1alpha1.Trouble {
	byReason := map[string]*fleetv1alpha1.Trouble{}
	for _, view := range views {
		for _, pod := range view.pods {
			reason, message := troubleOf(pod)
			if reason == "" {
				continue
			}
			reason, message = conditions.Cut(reason, maxTroubleReason), conditions.Cut(message, maxTroubleMessage)
			t, ok := byReason[reason]
			if !ok {
				t = &fleetv1alpha1.Trouble{Reason: reason, Message: message}
				byReason[reason] = t
			}
			t.Pods++
			t.Message = min(t.Message, message)
		}
	}
	out := make([]fleetv1alpha1.Trouble, 0, len(byReason))
	for _, t := range slices.SortedFunc(maps.Values(byReason), func(a, b *fleetv1alpha1.Trouble) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
	}) {
		out = append(out, *t)
	}
	return out[:min(len(out), maxTroubles):min(len(out), maxTroubles)]
}

// troubleOf says why a pod is not ready; an empty reason means that it is, or is on its way out.
func troubleOf(pod *corev1.Pod) (reason, message string) {
	if pod.DeletionTimestamp != nil || pods.IsReady(pod) || pod.Status.Phase == corev1.PodSucceeded {
		return "", ""
	}
	if pod.Status.Phase == corev1.PodFailed {
		return cmp.Or(pod.Status.Reason, "Failed"), pod.Status.Message
	}
	if c := pods.Condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return cmp.Or(c.Reason, "Unschedulable"), c.Message
	}
	if reason, message := containersTrouble(pod); reason != "" {
		return reason, message
	}
	if c := pods.Condition(pod, corev1.PodReady); c != nil && c.Status != corev1.ConditionTrue && c.Reason != "" {
		return c.Reason, c.Message
	}
	return "NotReady", ""
}

// containersTrouble says what keeps the first container in trouble from running.
func containersTrouble(pod *corev1.Pod) (reason, message string) {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if reason, message := containerTrouble(&list[i]); reason != "" {
				return reason, message
			}
		}
	}
	return "", ""
}

// containerTrouble says what keeps a container from running. A container that is only being made is
// in no trouble.
func containerTrouble(s *corev1.ContainerStatus) (reason, message string) {
	if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
		return w.Reason, fmt.Sprintf("container %s: %s", s.Name, cmp.Or(w.Message, w.Reason))
	}
	if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
		return cmp.Or(t.Reason, "Error"), fmt.Sprintf("container %s ended with exit code %d", s.Name, t.ExitCode)
	}
	return "", ""
}
