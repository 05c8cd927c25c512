// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

var start = time.Unix(1_000_000, 0)

func jobOf(changes ...func(*v1alpha1.EphemeralJob)) *v1alpha1.EphemeralJob {
	job := &v1alpha1.EphemeralJob{}
	job.Namespace, job.Name, job.UID = "ns", "debug", "job"
	job.Spec.Template.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "probe"}}}
	for _, change := range changes {
		change(job)
	}
	v1alpha1.DefaultEphemeralJob(job)
	return job
}

func replicas(n int32) func(*v1alpha1.EphemeralJob) {
	return func(job *v1alpha1.EphemeralJob) { job.Spec.Replicas = &n }
}

func parallelism(n int32) func(*v1alpha1.EphemeralJob) {
	return func(job *v1alpha1.EphemeralJob) { job.Spec.Parallelism = &n }
}

func deadline(n int64) func(*v1alpha1.EphemeralJob) {
	return func(job *v1alpha1.EphemeralJob) { job.Spec.ActiveDeadlineSeconds = &n }
}

// podsIn makes pods of which the containers are in these states, each a second younger than the one before.
func podsIn(states ...state) []*corev1.Pod {
	out := make([]*corev1.Pod, len(states))
	for i, in := range states {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p%d", i), CreationTimestamp: metav1.Time{Time: start.Add(time.Duration(i) * time.Second)}}}
		pod.Status.Phase = corev1.PodRunning
		put(pod, in)
		out[i] = pod
	}
	return out
}

func put(pod *corev1.Pod, in state) {
	pod.Spec.EphemeralContainers, pod.Status.EphemeralContainerStatuses = nil, nil
	if in == absent {
		return
	}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "probe", Env: []corev1.EnvVar{{Name: v1alpha1.EphemeralJobIDEnv, Value: "job"}},
	}}}
	status := corev1.ContainerStatus{Name: "probe"}
	switch in {
	case waiting:
		status.State.Waiting = &corev1.ContainerStateWaiting{}
	case running:
		status.State.Running = &corev1.ContainerStateRunning{}
	case succeeded:
		status.State.Terminated = &corev1.ContainerStateTerminated{}
	case failed:
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	default:
		return
	}
	pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{status}
}

func names(list []*corev1.Pod) []string {
	var out []string
	for _, pod := range list {
		out = append(out, pod.Name)
	}
	return out
}

func TestPhases(t *testing.T) {
	cannotRun := podsIn(waiting)
	cannotRun[0].Status.EphemeralContainerStatuses[0].State.Waiting.Reason = runError
	for name, tc := range map[string]struct {
		job       *v1alpha1.EphemeralJob
		pods      []*corev1.Pod
		after     time.Duration
		want      v1alpha1.EphemeralJobPhase
		condition v1alpha1.EphemeralJobConditionType
		ended     bool
	}{
		"no pods":                    {jobOf(), nil, 0, "Waiting", v1alpha1.EJobMatchedEmpty, false},
		"empty template, no pods":    {jobOf(empty), nil, 0, "Error", v1alpha1.EJobError, false},
		"empty template, pods":       {jobOf(empty), podsIn(absent), 0, "Error", v1alpha1.EJobError, false},
		"paused":                     {jobOf(paused), podsIn(running), 0, "Paused", "", false},
		"not begun":                  {jobOf(), podsIn(absent), 0, "Unknown", "", false},
		"all wait":                   {jobOf(), podsIn(waiting, waiting), 0, "Waiting", "", false},
		"one runs":                   {jobOf(), podsIn(waiting, running), 0, "Running", "", false},
		"one runs, one failed":       {jobOf(), podsIn(failed, running), 0, "Running", v1alpha1.EJobFailed, false},
		"all well":                   {jobOf(), podsIn(succeeded, succeeded), 0, "Succeeded", v1alpha1.EJobSucceeded, true},
		"replicas 4 of 5":            {jobOf(replicas(4)), podsIn(succeeded, succeeded, succeeded, succeeded, absent), 0, "Succeeded", v1alpha1.EJobSucceeded, true},
		"fewer pods than replicas":   {jobOf(replicas(4)), podsIn(succeeded, succeeded), 0, "Unknown", "", false},
		"all failed":                 {jobOf(), podsIn(failed, failed), 0, "Failed", v1alpha1.EJobFailed, true},
		"EJ-01: one well, one not":   {jobOf(), podsIn(succeeded, failed), 0, "Failed", v1alpha1.EJobFailed, true},
		"command missing":            {jobOf(), cannotRun, 0, "Failed", v1alpha1.EJobFailed, true},
		"before the deadline":        {jobOf(deadline(20)), podsIn(running), 19 * time.Second, "Running", "", false},
		"at the deadline":            {jobOf(deadline(20)), podsIn(running), 20 * time.Second, "Failed", v1alpha1.EJobFailed, true},
		"without pods, the deadline": {jobOf(deadline(20)), nil, 20 * time.Second, "Failed", v1alpha1.EJobFailed, true},
		"a deadline beyond all time": {jobOf(deadline(math.MaxInt64)), podsIn(running), 20 * time.Second, "Running", "", false},
		"paused past the deadline":   {jobOf(deadline(20), paused), podsIn(running), 20 * time.Second, "Paused", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.job.Status.StartTime = &metav1.Time{Time: start}
			got := MakePlan(tc.job, tc.pods, nil, start.Add(tc.after)).Status
			if got.Phase != tc.want || (got.CompletionTime != nil) != tc.ended {
				t.Errorf("%s, ended %v", got.Phase, got.CompletionTime)
			}
			if tc.condition != "" && !slices.ContainsFunc(got.Conditions, func(c v1alpha1.EphemeralJobCondition) bool {
				return c.Type == tc.condition && c.Status == corev1.ConditionTrue
			}) {
				t.Errorf("no condition %s: %v", tc.condition, got.Conditions)
			}
		})
	}
}

func empty(job *v1alpha1.EphemeralJob)  { job.Spec.Template.EphemeralContainers = nil }
func paused(job *v1alpha1.EphemeralJob) { job.Spec.Paused = true }

func TestFill(t *testing.T) {
	foreign := podsIn(running, absent)
	foreign[0].Spec.EphemeralContainers[0].Env[0].Value = "another job"
	gone := podsIn(absent, absent)
	gone[0].DeletionTimestamp = &metav1.Time{Time: start}
	homeless := podsIn(absent, absent, absent)
	homeless[1].Spec.NodeName, homeless[2].Spec.NodeName = "n", "n"
	placed := podsIn(absent, succeeded)
	placed[1].Spec.NodeName = "n"
	for name, tc := range map[string]struct {
		job   *v1alpha1.EphemeralJob
		pods  []*corev1.Pod
		want  []string
		match int32
	}{
		"pods without a node wait":    {jobOf(), homeless, []string{"p1"}, 3},
		"they come last":              {jobOf(parallelism(3)), homeless, []string{"p1", "p2", "p0"}, 3},
		"they come":                   {jobOf(), placed, []string{"p0"}, 2},
		"one at a time":               {jobOf(), podsIn(absent, absent), []string{"p0"}, 2},
		"two at a time":               {jobOf(parallelism(2)), podsIn(absent, absent, absent), []string{"p0", "p1"}, 3},
		"one under way":               {jobOf(parallelism(2)), podsIn(running, absent, absent), []string{"p1"}, 3},
		"one unseen":                  {jobOf(parallelism(2)), podsIn(unknown, waiting, absent), nil, 3},
		"those that ended make room":  {jobOf(), podsIn(succeeded, failed, absent), []string{"p2"}, 3},
		"no more than replicas":       {jobOf(parallelism(9), replicas(1)), podsIn(absent, absent), []string{"p0"}, 1},
		"paused":                      {jobOf(paused), podsIn(absent), nil, 1},
		"another job has the name":    {jobOf(), foreign, []string{"p1"}, 1},
		"pods that go get nothing":    {jobOf(), gone, []string{"p1"}, 1},
		"negative replicas mean none": {jobOf(replicas(-1)), podsIn(absent), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(tc.pods) // the cache has no order
			got := MakePlan(tc.job, tc.pods, nil, start)
			if diff := cmp.Diff(tc.want, names(got.Fill)); diff != "" || got.Status.Matches != tc.match {
				t.Errorf("match %d, fill %s", got.Status.Matches, diff)
			}
		})
	}
}

func TestAfterEnd(t *testing.T) {
	job := jobOf()
	job.Status.CompletionTime = &metav1.Time{Time: start}
	if got := MakePlan(job, nil, nil, start.Add(30*time.Minute-time.Second)); got.Remove || got.Again != time.Second {
		t.Errorf("a second too early: %+v", got)
	}
	if got := MakePlan(job, nil, nil, start.Add(30*time.Minute)); !got.Remove {
		t.Error("not removed")
	}
	if got := MakePlan(jobOf(), podsIn(succeeded), nil, start); got.Again != 30*time.Minute {
		t.Errorf("the end asks to come back in %s", got.Again)
	}
}

// TestAtRest: a second look at the same changes nothing, so nothing is written.
func TestAtRest(t *testing.T) {
	for _, list := range [][]*corev1.Pod{nil, podsIn(running), podsIn(failed, running)} {
		job := jobOf()
		job.Status = MakePlan(job, list, nil, start).Status
		if diff := cmp.Diff(job.Status, MakePlan(job, list, nil, start.Add(time.Hour)).Status); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRandomJobs plays whole jobs in random order: never more pods under way than parallelism, none twice, none beyond
// replicas, and an end with a completion time.
func TestRandomJobs(t *testing.T) {
	for seed := range int64(500) {
		r := rand.New(rand.NewSource(seed))
		n, wide := r.Intn(8)+1, int32(r.Intn(4)+1)
		most := int32(r.Intn(n) + 1)
		job, list, touched := jobOf(parallelism(wide), replicas(most)), podsIn(make([]state, n)...), map[string]bool{}
		for step := 0; job.Status.CompletionTime == nil; step++ {
			if step > 500 {
				t.Fatalf("seed %d: no end: %+v", seed, job.Status)
			}
			plan := MakePlan(job, list, nil, start)
			job.Status = plan.Status
			for _, pod := range plan.Fill {
				if touched[pod.Name] {
					t.Fatalf("seed %d: %s twice", seed, pod.Name)
				}
				touched[pod.Name] = true
				put(pod, unknown)
			}
			var under int32
			for _, pod := range list {
				in := stateIn(job, pod)
				if in == unknown || in == waiting || in == running {
					under++
					put(pod, []state{in, waiting, running, succeeded, failed}[r.Intn(5)])
				}
			}
			if under > wide || int32(len(touched)) > most {
				t.Fatalf("seed %d: %d under way, %d touched", seed, under, len(touched))
			}
		}
		if job.Status.Succeeded+job.Status.Failed != most {
			t.Fatalf("seed %d: %+v", seed, job.Status)
		}
	}
}
