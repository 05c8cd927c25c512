// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// sidecarSetHashKey is the annotation that a pod with injected sidecars bears.
const sidecarSetHashKey = "kruise.io/sidecarset-hash"

// Reason says where a pod stands, see the package comment.
type Reason string

// The reasons.
const (
	NotOurs Reason = "NotOurs"
	Deleted Reason = "Deleted"
	Ended   Reason = "Ended"
	Settled Reason = "Settled"
	Current Reason = "Current"
	Due     Reason = "Due"
)

// Rules are what decides besides the pod.
type Rules struct {
	// Start is when the agent started.
	Start time.Time
	// Env tells to report the hashes of environment variables that come from metadata.
	Env bool
}

// Question is what must be asked of the runtime about one instance.
type Question struct {
	// Name is the container's name, ContainerID the instance as written in the status.
	Name, ContainerID string
	// Plain asks for the kubelet's hash, Env for the environment hash.
	Plain, Env bool
}

// Answers hold what the runtime told, by container ID; an instance that it did not tell of is absent.
type Answers map[string]v1beta1.RuntimeContainerHashes

// Plan is what there is to do about one pod.
type Plan struct {
	Reason    Reason
	Questions []Question

	statuses []corev1.ContainerStatus
	old      v1beta1.RuntimeContainerMetaSet
}

// MakePlan decides from the pod alone what must be asked. It needs no runtime and is cheap enough for every event.
func MakePlan(pod *corev1.Pod, rules Rules) Plan {
	if reason := leaveAlone(pod, rules.Start); reason != "" {
		return Plan{Reason: reason}
	}
	p := Plan{Reason: Current, statuses: pod.Status.ContainerStatuses, old: oldReport(pod)}
	for i := range p.statuses {
		if q := p.question(&p.statuses[i], rules); q.Plain || q.Env {
			p.Questions = append(p.Questions, q)
		}
	}
	if _, changed := p.Report(nil); changed || len(p.Questions) > 0 {
		p.Reason = Due
	}
	return p
}

// Report returns the report with what is known now, and whether it says something else than the old one. A pod
// without any known instance has nothing new to say.
func (p Plan) Report(answers Answers) (v1beta1.RuntimeContainerMetaSet, bool) {
	var set v1beta1.RuntimeContainerMetaSet
	for i := range p.statuses {
		if entry, ok := p.entry(&p.statuses[i], answers); ok {
			set.Containers = append(set.Containers, entry)
		}
	}
	return set, len(set.Containers) > 0 && !slices.Equal(set.Containers, p.old.Containers)
}

func (p Plan) question(status *corev1.ContainerStatus, rules Rules) Question {
	if status.ContainerID == "" {
		return Question{}
	}
	entry, _ := p.kept(status)
	return Question{
		Name:        status.Name,
		ContainerID: status.ContainerID,
		Plain:       entry.Hashes.PlainHash == 0,
		Env:         entry.Hashes.ExtractedEnvFromMetadataHash == 0 && rules.Env && status.State.Running != nil,
	}
}

func (p Plan) entry(status *corev1.ContainerStatus, answers Answers) (v1beta1.RuntimeContainerMeta, bool) {
	if status.ContainerID == "" {
		return v1beta1.RuntimeContainerMeta{}, false
	}
	entry, kept := p.kept(status)
	answer, answered := answers[status.ContainerID]
	if !kept {
		entry = v1beta1.RuntimeContainerMeta{Name: status.Name, ContainerID: status.ContainerID, RestartCount: status.RestartCount}
	}
	if entry.Hashes.PlainHash == 0 {
		entry.Hashes.PlainHash = answer.PlainHash
	}
	if entry.Hashes.ExtractedEnvFromMetadataHash == 0 {
		entry.Hashes.ExtractedEnvFromMetadataHash = answer.ExtractedEnvFromMetadataHash
	}
	return entry, kept || answered
}

// kept returns the old report's entry for the instance.
func (p Plan) kept(status *corev1.ContainerStatus) (v1beta1.RuntimeContainerMeta, bool) {
	for _, e := range p.old.Containers {
		if e.Name == status.Name && e.ContainerID == status.ContainerID {
			return e, true
		}
	}
	return v1beta1.RuntimeContainerMeta{}, false
}

// leaveAlone returns why a pod is not reported at all, "" when it is.
func leaveAlone(pod *corev1.Pod, start time.Time) Reason {
	switch {
	case !ours(pod):
		return NotOurs
	case pod.DeletionTimestamp != nil:
		return Deleted
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return Ended
	case settled(pod, start):
		return Settled
	default:
		return ""
	}
}

func ours(pod *corev1.Pod) bool {
	if _, ok := pod.Annotations[sidecarSetHashKey]; ok {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == v1beta1.GroupName
}

// settled tells that a pod was never reported and nothing in it has happened since the agent started.
func settled(pod *corev1.Pod, start time.Time) bool {
	if _, ok := pod.Annotations[v1beta1.RuntimeContainerMetaKey]; ok || updating(pod) {
		return false
	}
	start = start.Truncate(time.Second) // times in a status have whole seconds
	for _, status := range pod.Status.ContainerStatuses {
		if !startedAt(status.State).Before(start) || !startedAt(status.LastTerminationState).Before(start) {
			return false
		}
	}
	return true
}

// updating tells that an in-place update of the pod is under way.
func updating(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == v1beta1.InPlaceUpdateReady && c.Status == corev1.ConditionFalse
	})
}

func startedAt(s corev1.ContainerState) time.Time {
	switch {
	case s.Running != nil:
		return s.Running.StartedAt.Time
	case s.Terminated != nil:
		return s.Terminated.StartedAt.Time
	default:
		return time.Time{}
	}
}

// oldReport reads the annotation; one that cannot be read counts as empty and is replaced.
func oldReport(pod *corev1.Pod) v1beta1.RuntimeContainerMetaSet {
	var set v1beta1.RuntimeContainerMetaSet
	if raw, ok := pod.Annotations[v1beta1.RuntimeContainerMetaKey]; !ok || json.Unmarshal([]byte(raw), &set) != nil {
		return v1beta1.RuntimeContainerMetaSet{}
	}
	return set
}
