// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// RestartReason says why containers of a pod are, or are not, started anew; see the package comment.
type RestartReason string

// The reasons.
const (
	NoUpdate      RestartReason = "NoUpdate"
	KubeletBehind RestartReason = "KubeletBehind"
	AllFit        RestartReason = "AllFit"
	EnvOutdated   RestartReason = "EnvOutdated"
)

// Restart is one instance whose environment is not what the pod's metadata says now.
type Restart struct {
	// Name is the container's name, ContainerID the instance as written in the status.
	Name, ContainerID string
	// Expected is the environment hash that the next instance will have.
	Expected uint64
}

// RestartPlan says which instances are to end so that the kubelet starts their containers anew.
type RestartPlan struct {
	Reason   RestartReason
	Restarts []Restart
}

// MakeRestartPlan decides from a pod that was read whole.
func MakeRestartPlan(pod *corev1.Pod) RestartPlan { return restartPlan(pod, leftToKubelet) }

// mayRestart tells from the pod in the cache, of whose spec there is only a part, whether it is worth reading it whole.
func mayRestart(pod *corev1.Pod) RestartPlan {
	return restartPlan(pod, func(*corev1.Pod, *corev1.Container, v1beta1.RuntimeContainerHashes) bool { return false })
}

type leave func(*corev1.Pod, *corev1.Container, v1beta1.RuntimeContainerHashes) bool

func restartPlan(pod *corev1.Pod, left leave) RestartPlan {
	if !ours(pod) || pod.DeletionTimestamp != nil || !updatingEnv(pod) {
		return RestartPlan{Reason: NoUpdate}
	}
	found := outdated(pod, left)
	switch {
	case len(found) == 0:
		return RestartPlan{Reason: AllFit}
	case saysReady(pod):
		// The kubelet has not seen yet that the pod's gate was closed, which was written before the metadata.
		return RestartPlan{Reason: KubeletBehind}
	default:
		return RestartPlan{Reason: EnvOutdated, Restarts: found}
	}
}

// outdated are the instances that run with another environment than the pod's metadata says now.
func outdated(pod *corev1.Pod, left leave) []Restart {
	var found []Restart
	report := oldReport(pod)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		entry, ok := entryOf(pod, report, c.Name)
		expected := containerhash.ExpectedEnv(c, pod)
		if now := entry.Hashes.ExtractedEnvFromMetadataHash; !ok || now == 0 || now == expected || left(pod, c, entry.Hashes) {
			continue
		}
		found = append(found, Restart{Name: c.Name, ContainerID: entry.ContainerID, Expected: expected})
	}
	return found
}

// saysReady tells what the kubelet last wrote, whatever the gate says.
func saysReady(pod *corev1.Pod) bool {
	c := pods.Condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// entryOf returns the report's entry for the instance of a container that runs.
func entryOf(pod *corev1.Pod, report v1beta1.RuntimeContainerMetaSet, name string) (v1beta1.RuntimeContainerMeta, bool) {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.Name != name || s.State.Running == nil || s.ContainerID == "" {
			continue
		}
		for _, e := range report.Containers {
			if e.Name == name && e.ContainerID == s.ContainerID {
				return e, true
			}
		}
	}
	return v1beta1.RuntimeContainerMeta{}, false
}

// leftToKubelet tells that the kubelet starts the container anew by itself, since the instance was made of another spec
// (KD-04), or that it would not start it after it has ended.
func leftToKubelet(pod *corev1.Pod, c *corev1.Container, hashes v1beta1.RuntimeContainerHashes) bool {
	if !containerhash.PlainMatches(c, hashes.PlainHash) {
		return true
	}
	policy := pod.Spec.RestartPolicy
	if c.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.RestartPolicy)
	}
	return policy != corev1.RestartPolicyAlways && policy != ""
}

// updatingEnv tells that an in-place update of the pod is under way that has changed metadata which env refers to, by
// what the spoke has written. Metadata that somebody edits on the pod is no update.
func updatingEnv(pod *corev1.Pod) bool {
	if !updating(pod) {
		return false
	}
	raw, ok := pods.Annotation(pod, v1beta1.InPlaceUpdateStateKey, v1beta1.InPlaceUpdateStateKeyOld)
	var state struct {
		UpdateEnvFromMetadata bool `json:"updateEnvFromMetadata"`
	}
	return ok && json.Unmarshal([]byte(raw), &state) == nil && state.UpdateEnvFromMetadata
}
