// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
)

// kubeletHash is the hash that kubelets from 1.31 on give a container.
func kubeletHash(name, image string) uint64 {
	raw, _ := json.Marshal(map[string]string{"image": image, "name": name})
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, dump.ForHash(raw))
	return uint64(h.Sum32())
}

// envPod is in an update that has changed label version to v2, which main refers to; both containers run, made when it
// was v1.
func envPod(options ...podOption) *corev1.Pod {
	pod := newPod(running("main", "containerd://m1", 0, agentStart), running("side", "containerd://s1", 0, agentStart), condition("False"), ready("False"))
	pod.Labels = map[string]string{"version": "v2"}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Image = "image:v1"
	}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("VERSION", "metadata.labels['version']")}
	pod.Annotations[v1beta1.InPlaceUpdateStateKey] = `{"revision":"r2","updateEnvFromMetadata":true}`
	reported("main", "containerd://m1", "v1")(pod)
	reported("side", "containerd://s1", "")(pod)
	for _, o := range options {
		o(pod)
	}
	return pod
}

func ready(status corev1.ConditionStatus) podOption {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status})
	}
}

// reported puts an instance in the report, made from image:v1 while label version had the value.
func reported(name, id, version string) podOption {
	return func(pod *corev1.Pod) {
		for i := range pod.Spec.Containers {
			c := pod.Spec.Containers[i]
			if c.Name != name {
				continue
			}
			then := &metav1.ObjectMeta{Labels: map[string]string{"version": version}}
			entry := entryJSON(name, id, kubeletHash(name, "image:v1"), containerhash.ExpectedEnv(&c, then))
			old := strings.TrimSuffix(strings.TrimPrefix(pod.Annotations[v1beta1.RuntimeContainerMetaKey], `{"containers":[`), `]}`)
			report(`{"containers":[` + strings.TrimPrefix(old+","+entry, ",") + `]}`)(pod)
		}
	}
}

func entryJSON(name, id string, plain, env uint64) string {
	return fmt.Sprintf(`{"name":%q,"containerID":%q,"restartCount":0,"hashes":{"plainHash":%d,"extractedEnvFromMetadataHash":%d}}`, name, id, plain, env)
}

func status(name string, change func(*corev1.ContainerStatus)) podOption {
	return func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			if pod.Status.ContainerStatuses[i].Name == name {
				change(&pod.Status.ContainerStatuses[i])
			}
		}
	}
}

func TestRestartPlan(t *testing.T) {
	both := func(pod *corev1.Pod) {
		pod.Spec.Containers[1].Env = pod.Spec.Containers[0].Env
		pod.Annotations[v1beta1.RuntimeContainerMetaKey] = ""
		reported("main", "containerd://m1", "v1")(pod)
		reported("side", "containerd://s1", "v1")(pod)
	}
	noReport := func(pod *corev1.Pod) { delete(pod.Annotations, v1beta1.RuntimeContainerMetaKey) }
	tests := map[string]struct {
		options []podOption
		want    RestartReason
		names   []string
	}{
		"the container that refers to the label": {want: EnvOutdated, names: []string{"main"}},
		"both refer to it":                       {options: []podOption{both}, want: EnvOutdated, names: []string{"main", "side"}},
		"the update is over":                     {options: []podOption{func(p *corev1.Pod) { p.Status.Conditions = nil }, condition("True")}, want: NoUpdate},
		"no update at all: edited by hand":       {options: []podOption{func(p *corev1.Pod) { p.Status.Conditions = nil }}, want: NoUpdate},
		"edited by hand in an update of images": {options: []podOption{func(p *corev1.Pod) {
			p.Annotations[v1beta1.InPlaceUpdateStateKey] = `{"revision":"r2","updateImages":true}`
		}}, want: NoUpdate},
		"a state that cannot be read": {options: []podOption{func(p *corev1.Pod) { p.Annotations[v1beta1.InPlaceUpdateStateKey] = "{" }}, want: NoUpdate},
		"the state under its old key": {options: []podOption{func(p *corev1.Pod) {
			p.Annotations[v1beta1.InPlaceUpdateStateKeyOld] = p.Annotations[v1beta1.InPlaceUpdateStateKey]
			delete(p.Annotations, v1beta1.InPlaceUpdateStateKey)
		}}, want: EnvOutdated, names: []string{"main"}},
		"somebody else's pod":                    {options: []podOption{ownedBy("apps/v1", "ReplicaSet")}, want: NoUpdate},
		"being deleted":                          {options: []podOption{func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(agentStart)) }}, want: NoUpdate},
		"in the grace period":                    {options: []podOption{func(p *corev1.Pod) { p.Labels["version"] = "v1" }}, want: AllFit},
		"the kubelet has not closed the pod yet": {options: []podOption{func(p *corev1.Pod) { p.Status.Conditions[1].Status = "True" }}, want: KubeletBehind},
		"restarted already":                      {options: []podOption{noReport, reported("main", "containerd://m1", "v2"), reported("side", "containerd://s1", "")}, want: AllFit},
		"no report":                              {options: []podOption{noReport}, want: AllFit},
		"env not known (no command env)":         {options: []podOption{report(`{"containers":[` + entryJSON("main", "containerd://m1", 1, 0) + `]}`)}, want: AllFit},
		"the report is of an instance before":    {options: []podOption{status("main", func(s *corev1.ContainerStatus) { s.ContainerID = "containerd://m2" })}, want: AllFit},
		"it does not run": {options: []podOption{status("main", func(s *corev1.ContainerStatus) {
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		})}, want: AllFit},
		"KD-04: its image has changed too":        {options: []podOption{func(p *corev1.Pod) { p.Spec.Containers[0].Image = "image:v2" }}, want: AllFit},
		"the image of the other has changed":      {options: []podOption{func(p *corev1.Pod) { p.Spec.Containers[1].Image = "image:v2" }}, want: EnvOutdated, names: []string{"main"}},
		"the kubelet would not start it again":    {options: []podOption{func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }}, want: AllFit},
		"nor this container":                      {options: []podOption{func(p *corev1.Pod) { p.Spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever) }}, want: AllFit},
		"KD-02: the first container does not run": {options: []podOption{both, status("main", func(s *corev1.ContainerStatus) { *s = corev1.ContainerStatus{Name: "main"} })}, want: EnvOutdated, names: []string{"side"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := envPod(tc.options...)
			got := MakeRestartPlan(pod)
			if got.Reason != tc.want {
				t.Errorf("reason = %s, want %s", got.Reason, tc.want)
			}
			var names []string
			for _, r := range got.Restarts {
				names = append(names, r.Name)
				if c := pod.Spec.Containers[map[string]int{"main": 0, "side": 1}[r.Name]]; r.Expected != containerhash.ExpectedEnv(&c, pod) {
					t.Errorf("%s: expected hash %d", r.Name, r.Expected)
				}
			}
			if diff := cmp.Diff(tc.names, names); diff != "" {
				t.Errorf("restarts (-want +got):\n%s", diff)
			}
			if before := mayRestart(pod); len(before.Restarts) < len(got.Restarts) {
				t.Errorf("the cached pod tells of %d restarts only", len(before.Restarts))
			}
		})
	}
}

func TestMemory(t *testing.T) {
	var m memory
	pod, change := types.NamespacedName{Name: "p"}, Restart{Name: "main", Expected: 1}
	at := agentStart
	check := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("%s: waits %s, want %s", what, got, want)
		}
	}
	check("first seen", m.wait(pod, "u", change, at), kubeletDelay)
	check("seen again", m.wait(pod, "u", change, at.Add(time.Second)), time.Second)
	check("known long enough", m.wait(pod, "u", change, at.Add(kubeletDelay)), 0)
	for i, want := range []time.Duration{3, 6, 12, 24, 48, 96, 192, 384, 600, 600, 600} {
		m.tried(pod, change, at)
		check(fmt.Sprintf("tried %d times", i+1), m.wait(pod, "u", change, at), want*time.Second)
	}
	check("another change", m.wait(pod, "u", Restart{Name: "main", Expected: 2}, at), kubeletDelay)
	m.tried(pod, Restart{Name: "main", Expected: 2}, at)
	check("another pod of the name", m.wait(pod, "v", Restart{Name: "main", Expected: 2}, at), kubeletDelay)
	if !m.has(pod) {
		t.Error("it is forgotten")
	}
	m.forget(pod)
	if m.has(pod) {
		t.Error("it is not forgotten")
	}
}
