// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const (
	// barrierSuffix follows the pod's name in that of its ConfigMap, keyPrefix comes before a priority in a key.
	barrierSuffix, keyPrefix = "-barrier", "p_"
	// configError is the kubelet's reason for a container that waits for a key.
	configError = "CreateContainerConfigError"
)

// Reason says where a pod stands, see the package comment.
type Reason string

// The reasons.
const (
	NotOurs     Reason = "NotOurs"
	Ended       Reason = "Ended"
	Missing     Reason = "Missing"
	Launched    Reason = "Launched"
	Release     Reason = "Release"
	ReleaseLast Reason = "ReleaseLast"
)

// Step is what a pod needs next.
type Step struct {
	Reason Reason
	// Keys are the keys that the barrier must have, in order of priority. It may have more.
	Keys []string
	// Level is the priority that is let go, and Containers are those that wait for it.
	Level      int
	Containers []string
	// First says that no container was let go before.
	First bool
}

// idle tells whether there is nothing to do.
func (s Step) idle() bool { return s.Reason == NotOurs || s.Reason == Launched }

// Next decides from the pod alone. A level that was let go already comes up again until its containers are ready.
func Next(pod *corev1.Pod) Step {
	levels := levelsOf(pod)
	switch {
	case len(levels) == 0 || pod.DeletionTimestamp != nil:
		return Step{Reason: NotOurs}
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return Step{Reason: Ended}
	case pod.Annotations[v1beta1.ContainerLaunchPriorityCompletedKey] == "true":
		if !misses(pod, levels) {
			return Step{Reason: Launched}
		}
		return Step{Reason: Missing, Keys: keys(levels, slices.Min(values(levels)))}
	}
	pending := pendingOf(pod, levels)
	if len(pending) == 0 {
		return Step{Reason: Launched}
	}
	waiting := values(pending)
	step := Step{Reason: Release, Level: slices.Max(waiting)}
	if step.Level == slices.Min(waiting) {
		step.Reason = ReleaseLast
	}
	step.Keys, step.First = keys(levels, step.Level), step.Level == slices.Max(values(levels))
	for _, l := range pending {
		if l.priority == step.Level {
			step.Containers = append(step.Containers, l.container)
		}
	}
	return step
}

// level is the priority of a container.
type level struct {
	container string
	priority  int
}

// levelsOf reads the priorities from the references to the barrier.
func levelsOf(pod *corev1.Pod) []level {
	var out []level
	for i := range pod.Spec.Containers {
		for _, env := range pod.Spec.Containers[i].Env {
			if env.Name != v1beta1.ContainerLaunchBarrierEnvName || env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
				continue
			}
			priority, err := strconv.Atoi(strings.TrimPrefix(env.ValueFrom.ConfigMapKeyRef.Key, keyPrefix))
			if err == nil {
				out = append(out, level{pod.Spec.Containers[i].Name, priority})
			}
		}
	}
	return out
}

// pendingOf returns the containers which those of lower priority wait for, or which wait themselves.
func pendingOf(pod *corev1.Pod, levels []level) []level {
	over := map[string]bool{}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		ended := status.State.Terminated
		over[status.Name] = status.Ready || ended != nil && ended.ExitCode == 0 && !startsAgain(pod, status.Name)
	}
	return slices.DeleteFunc(slices.Clone(levels), func(l level) bool { return over[l.container] })
}

// startsAgain tells whether a container that ended well is started again: by its own rules and policy, where it has any,
// else by the pod's.
func startsAgain(pod *corev1.Pod, container string) bool {
	policy := pod.Spec.RestartPolicy
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != container || c.RestartPolicy == nil {
			continue
		}
		if slices.ContainsFunc(c.RestartPolicyRules, isForSuccess) {
			return true
		}
		policy = corev1.RestartPolicy(*c.RestartPolicy)
	}
	return policy == corev1.RestartPolicyAlways
}

// isForSuccess tells whether a rule is for exit code 0. All that rules can do is to start containers again.
func isForSuccess(rule corev1.ContainerRestartRule) bool {
	codes := rule.ExitCodes
	return codes != nil && slices.Contains(codes.Values, 0) == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

// misses tells whether a container waits for something that it refers to.
func misses(pod *corev1.Pod, levels []level) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		ours := slices.ContainsFunc(levels, func(l level) bool { return l.container == status.Name })
		return ours && status.State.Waiting != nil && status.State.Waiting.Reason == configError
	})
}

// lacks tells whether a container waits for something that it refers to, after a step that should let it go.
func lacks(pod *corev1.Pod, done Step) bool {
	return misses(pod, slices.DeleteFunc(levelsOf(pod), func(l level) bool { return done.Reason != Missing && l.priority < done.Level }))
}

func values(levels []level) []int {
	out := make([]int, len(levels))
	for i, l := range levels {
		out[i] = l.priority
	}
	return out
}

// keys returns the keys of a priority and of all above, the highest first.
func keys(levels []level, lowest int) []string {
	all := values(levels)
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(b, a) })
	var out []string
	for _, priority := range slices.Compact(all) {
		if priority >= lowest {
			out = append(out, key(priority))
		}
	}
	return out
}

func key(priority int) string { return keyPrefix + strconv.Itoa(priority) }
