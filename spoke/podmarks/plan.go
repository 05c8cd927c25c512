// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podmarks

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// finding is one result with the probe it is of.
type finding struct {
	probe *v1alpha1.PodContainerProbe
	state v1alpha1.ContainerProbeState
}

// findings pairs results with the probes of the markers. Results of markers that are gone, of probes that were taken
// out of theirs, and of liveness probes are left out.
func findings(states []v1alpha1.ContainerProbeState, markers []podprobe.Marker) []finding {
	byName := map[string]podprobe.Marker{}
	for _, m := range markers {
		byName[m.Name] = m
	}
	var out []finding
	for i := range states {
		marker, name, ok := v1alpha1.SplitNodeProbeName(states[i].Name)
		m, known := byName[marker]
		if !ok || !known || states[i].State == "" {
			continue
		}
		if probe := m.Probe(name); probe != nil {
			out = append(out, finding{probe, states[i]})
		}
	}
	return out
}

// reported are findings from conditions that a virtual kubelet set.
func reported(pod *corev1.Pod, markers []podprobe.Marker) []finding {
	var out []finding
	for _, m := range markers {
		if !m.Selects(pod.Labels) {
			continue
		}
		for i := range m.Spec.Probes {
			probe := &m.Spec.Probes[i]
			if condition := pods.Condition(pod, corev1.PodConditionType(probe.PodConditionType)); condition != nil && probe.PodConditionType != "" {
				out = append(out, finding{probe, v1alpha1.ContainerProbeState{State: stateOf(condition.Status)}})
			}
		}
	}
	return out
}

func stateOf(status corev1.ConditionStatus) v1alpha1.ProbeState {
	switch status {
	case corev1.ConditionTrue:
		return v1alpha1.ProbeSucceeded
	case corev1.ConditionFalse:
		return v1alpha1.ProbeFailed
	default:
		return v1alpha1.ProbeUnknown
	}
}

// makePatch is what to change of a pod, given findings of its node's agent. Conditions that others write are left to
// them: the kubelet would write again and again, and holds in KruisePodReady would be lost.
func makePatch(pod *corev1.Pod, list []finding) podpatch.Patch {
	var out podpatch.Patch
	done := map[corev1.PodConditionType]bool{}
	for _, f := range list {
		condition := f.condition()
		if condition.Type == "" || done[condition.Type] || v1alpha1.TakenPodCondition(f.probe.PodConditionType) {
			continue
		}
		done[condition.Type] = true
		old := pods.Condition(pod, condition.Type)
		if old == nil || old.Status != condition.Status || old.Message != condition.Message {
			out.Conditions = append(out.Conditions, condition)
		}
	}
	marks := marksOf(list)
	marks.dropFrom(pod, &out, list)
	marks.putOn(pod, &out)
	return out
}

// makeServerlessPatch is what to change of a pod, given findings from its conditions.
func makeServerlessPatch(pod *corev1.Pod, list []finding) podpatch.Patch {
	var out podpatch.Patch
	marksOf(list).putOn(pod, &out)
	return out
}

func (f *finding) condition() corev1.PodCondition {
	c := corev1.PodCondition{
		Type: corev1.PodConditionType(f.probe.PodConditionType), Status: corev1.ConditionFalse, Message: f.state.Message,
		LastProbeTime: f.state.LastProbeTime, LastTransitionTime: f.state.LastTransitionTime,
	}
	if f.state.State == v1alpha1.ProbeSucceeded {
		c.Status = corev1.ConditionTrue
	}
	return c
}

// marks are the labels and annotations that a pod should have.
type marks struct{ labels, annotations map[string]string }

// marksOf are those of the policies that are for the states; the first that names a key counts.
func marksOf(list []finding) marks {
	out := marks{map[string]string{}, map[string]string{}}
	for _, f := range list {
		for i := range f.probe.MarkerPolicy {
			policy := &f.probe.MarkerPolicy[i]
			if policy.State == f.state.State {
				addMissing(out.labels, policy.Labels)
				addMissing(out.annotations, policy.Annotations)
			}
		}
	}
	return out
}

func addMissing(to, from map[string]string) {
	for key, value := range from {
		if _, there := to[key]; !there {
			to[key] = value
		}
	}
}

// putOn sets what the pod does not have, or has otherwise.
func (m marks) putOn(pod *corev1.Pod, patch *podpatch.Patch) {
	for key, value := range m.labels {
		if old, there := pod.Labels[key]; !there || old != value {
			patch.Label(key, value)
		}
	}
	for key, value := range m.annotations {
		if old, there := pod.Annotations[key]; !there || old != value {
			patch.Annotate(key, value)
		}
	}
}

// dropFrom takes off what the policies for other states set, unless it is to be there.
func (m marks) dropFrom(pod *corev1.Pod, patch *podpatch.Patch, list []finding) {
	for _, f := range list {
		for i := range f.probe.MarkerPolicy {
			policy := &f.probe.MarkerPolicy[i]
			if policy.State == f.state.State {
				continue
			}
			for key := range policy.Labels {
				if superfluous(key, pod.Labels, m.labels) {
					patch.DropLabel(key)
				}
			}
			for key := range policy.Annotations {
				if superfluous(key, pod.Annotations, m.annotations) {
					patch.DropAnnotation(key)
				}
			}
		}
	}
}

func superfluous(key string, has, should map[string]string) bool {
	_, there := has[key]
	_, wanted := should[key]
	return there && !wanted
}
