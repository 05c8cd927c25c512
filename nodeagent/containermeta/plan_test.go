// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// agentStart has a fraction of a second, as real starts do.
var agentStart = time.Date(2030, 1, 1, 12, 0, 0, 500_000_000, time.UTC)

type podOption func(*corev1.Pod)

// newPod is a running pod of a CloneSet whose containers started with the agent.
func newPod(options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0", UID: "uid", Annotations: map[string]string{}}}
	pod.Status.Phase = corev1.PodRunning
	ownedBy("apps.kruise.io/v1beta1", "CloneSet")(pod)
	for _, o := range options {
		o(pod)
	}
	return pod
}

func ownedBy(apiVersion, kind string) podOption {
	return func(pod *corev1.Pod) {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "web", UID: "o", Controller: &yes}}
	}
}

func report(json string) podOption {
	return func(pod *corev1.Pod) { pod.Annotations[v1beta1.RuntimeContainerMetaKey] = json }
}

func condition(status corev1.ConditionStatus) podOption {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "InPlaceUpdateReady", Status: status})
	}
}

// running adds a container instance; an empty id is a container that waits for its first one.
func running(name, id string, restarts int32, started time.Time) podOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		s := corev1.ContainerStatus{Name: name, ContainerID: id, RestartCount: restarts}
		if id == "" {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		} else {
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started.Truncate(time.Second))}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
	}
}

func exited(name, id string, started time.Time) podOption {
	return func(pod *corev1.Pod) {
		running(name, id, 0, started)(pod)
		last := &pod.Status.ContainerStatuses[len(pod.Status.ContainerStatuses)-1]
		last.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(started)}}
	}
}

func TestWhichPodsAreReported(t *testing.T) {
	before, main := agentStart.Add(-time.Hour), running("main", "containerd://a", 0, agentStart)
	old := running("main", "containerd://a", 0, before)
	tests := map[string]struct {
		pod  *corev1.Pod
		want Reason
	}{
		"of a CloneSet":                     {pod: newPod(main), want: Due},
		"of a workload of another version":  {pod: newPod(main, ownedBy("apps.kruise.io/v1alpha1", "DaemonSet")), want: Due},
		"of a ReplicaSet":                   {pod: newPod(main, ownedBy("apps/v1", "ReplicaSet")), want: NotOurs},
		"of a group that only sounds alike": {pod: newPod(main, ownedBy("apps.kruise.io.example.com/v1", "X")), want: NotOurs},
		"owned but not controlled": {pod: newPod(main, func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }),
			want: NotOurs},
		"with injected sidecars": {pod: newPod(main, ownedBy("apps/v1", "ReplicaSet"), func(p *corev1.Pod) {
			p.Annotations["kruise.io/sidecarset-hash"] = "{}"
		}), want: Due},
		"being deleted": {pod: newPod(main, func(p *corev1.Pod) {
			now := metav1.NewTime(agentStart)
			p.DeletionTimestamp = &now
		}), want: Deleted},
		"succeeded": {pod: newPod(main, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), want: Ended},
		"failed":    {pod: newPod(main, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), want: Ended},

		"never reported, ran before":              {pod: newPod(old), want: Settled},
		"never reported, being updated":           {pod: newPod(old, condition("False")), want: Due},
		"never reported, updated before":          {pod: newPod(old, condition("True")), want: Settled},
		"never reported, one container restarted": {pod: newPod(old, running("side", "containerd://b", 1, agentStart)), want: Due},
		"never reported, one ran and ended since": {pod: newPod(old, exited("side", "containerd://b", agentStart)), want: Due},
		"reported once, ran before":               {pod: newPod(old, report(`{"containers":[]}`)), want: Due},
		"no container yet":                        {pod: newPod(running("main", "", 0, agentStart)), want: Settled},
		"nothing known yet, reported before":      {pod: newPod(running("main", "", 0, agentStart), report(`{"containers":[]}`)), want: Current},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := MakePlan(tc.pod, Rules{Start: agentStart, Env: true}).Reason; got != tc.want {
				t.Errorf("reason = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	const a1 = `{"name":"a","containerID":"containerd://a1","restartCount":0,"hashes":{"plainHash":1,"extractedEnvFromMetadataHash":9}}`
	const b1 = `{"name":"b","containerID":"containerd://b1","restartCount":3,"hashes":{"plainHash":2,"extractedEnvFromMetadataHash":9}}`
	a, b := running("a", "containerd://a1", 0, agentStart), running("b", "containerd://b1", 3, agentStart)
	all := Answers{
		"containerd://a1": {PlainHash: 1, ExtractedEnvFromMetadataHash: 9},
		"containerd://a2": {PlainHash: 5, ExtractedEnvFromMetadataHash: 8},
		"containerd://b1": {PlainHash: 2, ExtractedEnvFromMetadataHash: 9},
	}
	set := func(entries string) string { return `{"containers":[` + entries + `]}` }
	tests := map[string]struct {
		pod       *corev1.Pod
		noEnv     bool
		answers   Answers
		questions []Question
		want      string // "" = no write
	}{
		"first report, in the order of the statuses": {
			pod: newPod(b, a), answers: all, want: set(b1 + "," + a1),
			questions: []Question{{"b", "containerd://b1", true, true}, {"a", "containerd://a1", true, true}},
		},
		"nothing changed": {pod: newPod(a, b, report(set(a1+","+b1))), answers: all},
		"nothing changed but the spelling": {
			pod: newPod(a, report(`{ "containers" : [ {"restartCount":0, "containerID":"containerd://a1","name":"a","hashes":{"extractedEnvFromMetadataHash":9,"plainHash":1},"more":true}]}`)), answers: all,
		},
		"an instance is new, the other entry is kept though the runtime says otherwise": {
			pod:       newPod(running("a", "containerd://a2", 1, agentStart), b, report(set(a1+","+b1))),
			answers:   Answers{"containerd://a2": all["containerd://a2"], "containerd://b1": {PlainHash: 77}},
			questions: []Question{{"a", "containerd://a2", true, true}},
			want:      set(`{"name":"a","containerID":"containerd://a2","restartCount":1,"hashes":{"plainHash":5,"extractedEnvFromMetadataHash":8}},` + b1),
		},
		"KD-02: a waiting container does not keep the others from being reported": {
			pod: newPod(running("a", "", 0, agentStart), b), answers: all,
			questions: []Question{{"b", "containerd://b1", true, true}}, want: set(b1),
		},
		"nor does one that the runtime does not know": {
			pod: newPod(a, b), answers: Answers{"containerd://b1": all["containerd://b1"]},
			questions: []Question{{"a", "containerd://a1", true, true}, {"b", "containerd://b1", true, true}}, want: set(b1),
		},
		"a container lost its instance": {pod: newPod(running("a", "", 0, agentStart), b, report(set(a1+","+b1))), want: set(b1)},
		"all containers lost theirs":    {pod: newPod(running("a", "", 0, agentStart), report(set(a1)))},
		"the runtime tells nothing": {
			pod: newPod(a), questions: []Question{{"a", "containerd://a1", true, true}},
		},
		"without the environment": {
			pod: newPod(a), noEnv: true, answers: Answers{"containerd://a1": {PlainHash: 1}},
			questions: []Question{{"a", "containerd://a1", true, false}},
			want:      set(`{"name":"a","containerID":"containerd://a1","restartCount":0,"hashes":{"plainHash":1,"extractedEnvFromMetadataHash":0}}`),
		},
		"the environment is filled in later": {
			pod:     newPod(a, report(set(`{"name":"a","containerID":"containerd://a1","restartCount":0,"hashes":{"plainHash":1,"extractedEnvFromMetadataHash":0}}`))),
			answers: Answers{"containerd://a1": {ExtractedEnvFromMetadataHash: 9}}, questions: []Question{{"a", "containerd://a1", false, true}},
			want: set(a1),
		},
		"an ended container has no environment to read": {
			pod: newPod(exited("a", "containerd://a1", agentStart)), answers: Answers{"containerd://a1": {PlainHash: 1}},
			questions: []Question{{"a", "containerd://a1", true, false}},
			want:      set(`{"name":"a","containerID":"containerd://a1","restartCount":0,"hashes":{"plainHash":1,"extractedEnvFromMetadataHash":0}}`),
		},
		"an unreadable report is replaced": {
			pod: newPod(a, report("{")), answers: all, questions: []Question{{"a", "containerd://a1", true, true}}, want: set(a1),
		},
		"the same ID under another name is another instance": {
			pod:       newPod(running("x", "containerd://a1", 0, agentStart), report(set(a1))),
			questions: []Question{{"x", "containerd://a1", true, true}}, answers: Answers{"containerd://a1": {PlainHash: 4, ExtractedEnvFromMetadataHash: 9}},
			want: set(`{"name":"x","containerID":"containerd://a1","restartCount":0,"hashes":{"plainHash":4,"extractedEnvFromMetadataHash":9}}`),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			plan := MakePlan(tc.pod, Rules{Start: agentStart, Env: !tc.noEnv})
			if diff := cmp.Diff(tc.questions, plan.Questions); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
			got, changed := plan.Report(tc.answers)
			if !changed {
				if tc.want != "" {
					t.Fatalf("no write, want %s", tc.want)
				}
				return
			}
			patch, err := patchOf(tc.pod.UID, got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantPatch(t, tc.want), string(patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			report(tc.want)(tc.pod)
			if again, changed := MakePlan(tc.pod, Rules{Start: agentStart}).Report(tc.answers); changed {
				t.Errorf("the next pass would write %v again", again)
			}
		})
	}
}
