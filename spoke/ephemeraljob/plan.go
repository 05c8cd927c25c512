// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// Plan is what there is to do for one job.
type Plan struct {
	// Status is what its status is to be.
	Status v1alpha1.EphemeralJobStatus
	// Fill are the pods that get the containers now, oldest first.
	Fill []*corev1.Pod
	// Remove says that the time after its end is over.
	Remove bool
	// Again is when to look again without an event; 0 for never.
	Again time.Duration
}

// state is how far the job's containers are in one pod.
type state int

// The states: the worst container counts.
const (
	absent  state = iota // none of the containers is in the pod
	later                // the same, and they could not be put in just now
	unknown              // nothing is said of them yet
	waiting
	running
	succeeded
	failed
)

// MakePlan decides from a job with its defaults filled in, the pods that its selector selects, and what is known of those
// that could not have its containers.
func MakePlan(job *v1alpha1.EphemeralJob, selected []*corev1.Pod, refused Refusals, now time.Time) Plan {
	if done := job.Status.CompletionTime; done != nil {
		return afterEnd(job, done.Time, now)
	}
	p := Plan{Status: *job.Status.DeepCopy()}
	s := &p.Status
	if s.StartTime == nil {
		s.StartTime = &metav1.Time{Time: now}
	}
	if !slices.ContainsFunc(s.Conditions, func(c v1alpha1.EphemeralJobCondition) bool { return c.Type == v1alpha1.EJobInitialized }) {
		set(s, v1alpha1.EJobInitialized, "", "", now)
	}
	targets := targetsOf(job, selected)
	states := make([]state, len(targets))
	s.Matches, s.Running, s.Succeeded, s.Waiting, s.Failed = int32(len(targets)), 0, 0, 0, 0
	for i, pod := range targets {
		if states[i] = stateIn(job, pod); states[i] == absent {
			var left time.Duration
			states[i], left = refused[pod.UID].at(now)
			p.Again = steps.Sooner(p.Again, left)
		}
		count(s, states[i])
	}
	over := leftOf(job, s.StartTime.Time, now)
	settle(s, job, over != nil && *over <= 0, now)
	if s.CompletionTime != nil {
		p.Again = ttl(job)
		return p
	}
	if over != nil {
		p.Again = steps.Sooner(p.Again, *over)
	}
	if s.Phase != v1alpha1.EphemeralJobPaused && s.Phase != v1alpha1.EphemeralJobError {
		p.Fill = fill(job, targets, states)
	}
	return p
}

// afterEnd waits until the job may go.
func afterEnd(job *v1alpha1.EphemeralJob, done, now time.Time) Plan {
	left := done.Add(ttl(job)).Sub(now)
	return Plan{Status: job.Status, Remove: left <= 0, Again: max(left, 0)}
}

func ttl(job *v1alpha1.EphemeralJob) time.Duration {
	return seconds.Of(*job.Spec.TTLSecondsAfterFinished)
}

// leftOf is how long the job may go on; nil for ever.
func leftOf(job *v1alpha1.EphemeralJob, start, now time.Time) *time.Duration {
	if job.Spec.ActiveDeadlineSeconds == nil {
		return nil
	}
	return new(start.Add(seconds.Of(*job.Spec.ActiveDeadlineSeconds)).Sub(now))
}

// targetsOf are the pods that the job is for: active ones, the oldest first, without those in which somebody else has
// a container of such a name.
func targetsOf(job *v1alpha1.EphemeralJob, selected []*corev1.Pod) []*corev1.Pod {
	out := slices.DeleteFunc(slices.Clone(selected), func(pod *corev1.Pod) bool {
		return !pods.IsActive(pod) || taken(job, pod)
	})
	slices.SortFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	if job.Spec.Replicas != nil {
		out = out[:min(len(out), max(0, int(*job.Spec.Replicas)))]
	}
	return out
}

// taken tells whether somebody else has a container of a name that the job needs.
func taken(job *v1alpha1.EphemeralJob, pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return named(job, c.Name) && !madeBy(job.UID, c.Env)
	})
}

func named(job *v1alpha1.EphemeralJob, name string) bool {
	return slices.ContainsFunc(job.Spec.Template.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == name })
}

func madeBy(job types.UID, env []corev1.EnvVar) bool {
	return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == v1alpha1.EphemeralJobIDEnv && e.Value == string(job) })
}

// stateIn reads how far the job is in a pod.
func stateIn(job *v1alpha1.EphemeralJob, pod *corev1.Pod) state {
	var list []state
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; named(job, c.Name) {
			list = append(list, stateOf(pod, c.Name))
		}
	}
	has := func(s state) bool { return slices.Contains(list, s) }
	switch {
	case len(list) == 0:
		return absent
	case has(failed):
		return failed
	case !slices.ContainsFunc(list, func(s state) bool { return s != succeeded }):
		return succeeded
	case has(running):
		return running
	case has(waiting):
		return waiting
	default:
		return unknown
	}
}

// runError is the kubelet's reason for a container whose command cannot be run.
const runError = "RunContainerError"

func stateOf(pod *corev1.Pod, container string) state {
	for i := range pod.Status.EphemeralContainerStatuses {
		status := &pod.Status.EphemeralContainerStatuses[i]
		if status.Name != container {
			continue
		}
		switch at := status.State; {
		case at.Terminated != nil && at.Terminated.ExitCode != 0, at.Waiting != nil && at.Waiting.Reason == runError:
			return failed
		case at.Terminated != nil:
			return succeeded
		case at.Running != nil:
			return running
		case at.Waiting != nil:
			return waiting
		}
	}
	return unknown
}

func count(s *v1alpha1.EphemeralJobStatus, in state) {
	switch in {
	case waiting:
		s.Waiting++
	case running:
		s.Running++
	case succeeded:
		s.Succeeded++
	case failed:
		s.Failed++
	case absent, later, unknown:
	}
}

// fill chooses the pods to put the containers into: as many as parallelism has left. Those without a node come last: one
// that no node has room for takes up its part of parallelism for ever.
func fill(job *v1alpha1.EphemeralJob, targets []*corev1.Pod, states []state) []*corev1.Pod {
	var out []*corev1.Pod
	room := int(*job.Spec.Parallelism)
	for _, in := range states {
		if in == unknown || in == waiting || in == running {
			room--
		}
	}
	for _, placed := range []bool{true, false} {
		for i, in := range states {
			if in == absent && len(out) < room && (targets[i].Spec.NodeName != "") == placed {
				out = append(out, targets[i])
			}
		}
	}
	return out
}
