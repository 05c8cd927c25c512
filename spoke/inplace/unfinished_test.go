// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// A second update on top of one still running does not count the first as done.
func TestUpdateOnTopOfAnUnfinishedOne(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}})
	begin(t, pod, Spec{Revision: "w-3", MetaDataPatch: []byte(`{"metadata":{"labels":{"x":"y"}}}`)})
	if p := advance(t, pod, t0); p.Phase != Restarting {
		t.Errorf("phase %v", p.Phase)
	}
	restart(pod)
	if p := advance(t, pod, t0); p.Phase != Done {
		t.Errorf("phase %v: %s", p.Phase, p.Reason)
	}
}

// Metadata that somebody edits on a pod between two updates restarts nothing, and the second does not wait for it. An
// update that was not through is waited for on.
func TestEnvOfAnEarlierUpdate(t *testing.T) {
	for name, through := range map[string]bool{"through, then edited by hand": true, "not through": false} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			begin(t, pod, Spec{Revision: "w-2", UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}})
			if through {
				writeMeta(pod)
				if p := advance(t, pod, t0); p.Phase != Done {
					t.Fatalf("phase %v: %s", p.Phase, p.Reason)
				}
				pod.Labels["k1"] = "by-hand"
			}
			begin(t, pod, Spec{Revision: "w-3", ContainerImages: map[string]string{"c2": "c2:3"}})
			if got := state(t, pod).UpdateEnvFromMetadata; got == through {
				t.Errorf("env is waited for: %v", got)
			}
		})
	}
}

// The template changes again before the first change is through, and the second change says nothing of a container that
// the first one is about. What is left of the first is done with the second: in the grace period, and between batches.
func TestSecondUpdateTakesTheFirstAlong(t *testing.T) {
	first := changed(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Image, t.Spec.Containers[1].Image, t.Annotations["note"], t.Labels["k2"] = "c1:2", "c2:2", "2", "2"
	})
	second := first.DeepCopy()
	second.Spec.Containers[0].Image, second.Labels["plain"] = "c1:3", "3"
	back := fourContainers()
	for name, tc := range map[string]struct {
		grace int32
		to    *corev1.PodTemplateSpec
	}{
		"in the grace period": {30, second}, "between batches": {0, second},
		"back in the grace period": {30, back}, "back between batches": {0, back},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			writeMeta(pod)
			options := Options{EnvFromMetadata: true}
			one := *Diff(revisionOf(t, "w-1", fourContainers()), revisionOf(t, "w-2", first), options).Spec
			one.GraceSeconds = tc.grace
			begin(t, pod, one)
			two := *Diff(revisionOf(t, "w-2", first), revisionOf(t, "w-3", tc.to), options).Spec
			begin(t, pod, two)
			for range 8 {
				restart(pod)
				writeMeta(pod)
				advance(t, pod, t0.Add(time.Minute))
			}
			want := runningPod(tc.to)
			if diff := cmp.Diff(imagesOf(want), imagesOf(pod)); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			for _, key := range []string{"k1", "k2", "plain"} {
				if pod.Labels[key] != want.Labels[key] {
					t.Errorf("label %s is %q, want %q", key, pod.Labels[key], want.Labels[key])
				}
			}
			if pod.Annotations["note"] != want.Annotations["note"] || !IsComplete(pod) || gate(pod) != corev1.ConditionTrue {
				t.Errorf("note %q, complete %v, gate %v", pod.Annotations["note"], IsComplete(pod), gate(pod))
			}
		})
	}
}

// How two changes are laid over each other.
func TestJoinSpecs(t *testing.T) {
	first := &Spec{
		Revision: "w-2", ContainerImages: map[string]string{"a": "a:2", "b": "b:2"}, UpdateEnvFromMetadata: true,
		ContainerRefMetadata: map[string]metav1.ObjectMeta{"a": {Labels: map[string]string{"gone": "2", "stays": "2"}}},
		ContainerResources:   map[string]corev1.ResourceRequirements{"a": {Limits: list("cpu", "2", "memory", "2Gi")}},
		MetaDataPatch:        []byte(`{"metadata":{"labels":{"x":"2","y":null},"finalizers":["f/1"]}}`), GraceSeconds: 30,
	}
	second := &Spec{
		Revision: "w-3", ContainerImages: map[string]string{"b": "b:3"}, ContainerResources: map[string]corev1.ResourceRequirements{"a": {Limits: list("cpu", "3")}},
		MetaDataPatch: []byte(`{"metadata":{"labels":{"gone":null,"x":"3"},"annotations":{"z":"3"}}}`), GraceSeconds: 5,
	}
	got, err := joinSpecs(first, second)
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Revision: "w-3", ContainerImages: map[string]string{"a": "a:2", "b": "b:3"}, UpdateEnvFromMetadata: true,
		ContainerRefMetadata: map[string]metav1.ObjectMeta{"a": {Labels: map[string]string{"stays": "2"}}},
		ContainerResources:   map[string]corev1.ResourceRequirements{"a": {Limits: list("cpu", "3", "memory", "2Gi")}},
		MetaDataPatch:        []byte(`{"metadata":{"annotations":{"z":"3"},"finalizers":["f/1"],"labels":{"gone":null,"x":"3","y":null}}}`), GraceSeconds: 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if first.ContainerImages["b"] != "b:2" || len(first.ContainerRefMetadata["a"].Labels) != 2 {
		t.Error("the first was changed")
	}
}

// A step from w-2 to w-3 names only what differs between them. What w-2 changed and the pod has not got yet, because
// it waits for its batch or its grace period, must come all the same.
func TestAnUpdateOnTopTakesAlongWhatIsNotDone(t *testing.T) {
	both := Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:bad", "c2": "c2:2"}, MetaDataPatch: []byte(`{"metadata":{"labels":{"a":"2","gone":null}}}`)}
	graced := both
	graced.GraceSeconds = 30
	for name, tc := range map[string]struct {
		first, second Spec
		want          []string
		labels        map[string]string
	}{
		"a batch not begun": {both, Spec{Revision: "w-3", ContainerImages: map[string]string{"c1": "c1:3"}},
			[]string{"c1:3", "c2:2"}, map[string]string{"a": "2"}},
		"a grace period that runs": {graced, Spec{Revision: "w-3", ContainerImages: map[string]string{"c1": "c1:3"}},
			[]string{"c1:3", "c2:2"}, map[string]string{"a": "2"}},
		"metadata alone, in the grace period": {graced, Spec{Revision: "w-3", MetaDataPatch: []byte(`{"metadata":{"labels":{"a":"3"}}}`)},
			[]string{"c1:bad", "c2:2"}, map[string]string{"a": "3"}},
		"all of it taken back": {both, Spec{Revision: "w-1", ContainerImages: map[string]string{"c1": "c1:1", "c2": "c2:1"}, MetaDataPatch: []byte(`{"metadata":{"labels":{"a":"1","gone":"not"}}}`)},
			[]string{"c1:1", "c2:1"}, map[string]string{"a": "1", "gone": "not"}},
		"all of it taken back in the grace period": {graced, Spec{Revision: "w-1", ContainerImages: map[string]string{"c1": "c1:1", "c2": "c2:1"}, MetaDataPatch: []byte(`{"metadata":{"labels":{"a":"1","gone":"not"}}}`)},
			[]string{"c1:1", "c2:1"}, map[string]string{"a": "1", "gone": "not"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			pod.Labels["a"], pod.Labels["gone"] = "1", "not"
			begin(t, pod, tc.first)
			begin(t, pod, tc.second)
			now := t0
			for range 6 {
				now = now.Add(time.Minute)
				restart(pod)
				advance(t, pod, now)
			}
			if diff := cmp.Diff(tc.want, imagesOf(pod)[:2]); diff != "" || !IsComplete(pod) {
				t.Errorf("complete %v, images (-want +got):\n%s", IsComplete(pod), diff)
			}
			for _, key := range []string{"a", "gone"} {
				if pod.Labels[key] != tc.labels[key] {
					t.Errorf("label %s is %q, want %q", key, pod.Labels[key], tc.labels[key])
				}
			}
			if _, is := pod.Labels["gone"]; is != (tc.labels["gone"] != "") {
				t.Errorf("label gone is there: %v", is)
			}
		})
	}
}

// What the first update waits for is waited for by the second, too.
func TestAnUpdateOnTopWaitsForTheOneBelow(t *testing.T) {
	env := map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}
	for name, first := range map[string]Spec{
		"env":       {Revision: "w-2", UpdateEnvFromMetadata: true, ContainerRefMetadata: env},
		"resources": {Revision: "w-2", ContainerResources: map[string]corev1.ResourceRequirements{"c1": {Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}},
		"image":     {Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			begin(t, pod, first)
			begin(t, pod, Spec{Revision: "w-3", MetaDataPatch: []byte(`{"metadata":{"labels":{"a":"3"}}}`), GraceSeconds: 5})
			begin(t, pod, Spec{Revision: "w-4", MetaDataPatch: []byte(`{"metadata":{"labels":{"a":"4"}}}`), GraceSeconds: 5})
			p := advance(t, pod, t0.Add(time.Minute))
			if IsComplete(pod) || p.Finished() {
				t.Error("done, though the first update is not")
			}
		})
	}
}

// A finished update leaves nothing: its agent may be gone since.
func TestNothingIsLeftOfAFinishedUpdate(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}})
	writeMeta(pod)
	if p := advance(t, pod, t0); !p.Finished() {
		t.Fatal("not done: " + p.Reason)
	}
	begin(t, pod, Spec{Revision: "w-3", ContainerImages: map[string]string{"c3": "c3:3"}})
	delete(pod.Annotations, appsv1beta1.RuntimeContainerMetaKey)
	restart(pod)
	if p := advance(t, pod, t0); !p.Finished() {
		t.Errorf("waits: %s", p.Reason)
	}
}

func TestAGracePeriodTakenBackStillWaitsForTheUpdateBelow(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}})
	begin(t, pod, Spec{Revision: "w-3", ContainerImages: map[string]string{"c3": "c3:3"}, GraceSeconds: 5})
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c3": "c3:1"}, GraceSeconds: 5})
	if p := advance(t, pod, t0.Add(time.Minute)); p.Finished() || InGrace(pod) {
		t.Errorf("phase %v: c1 has not restarted", p.Phase)
	}
	restart(pod)
	if p := advance(t, pod, t0.Add(time.Minute)); !p.Finished() {
		t.Errorf("waits: %s", p.Reason)
	}
}

// What a wait for env from metadata says.
func TestEnvPending(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}})
	if p := advance(t, pod, t0); !strings.HasPrefix(p.Reason, "the node agent does not report") {
		t.Errorf("%q", p.Reason)
	}
	pod.Labels["k1"] = "1"
	writeMeta(pod)
	pod.Labels["k1"] = "2"
	if p := advance(t, pod, t0); p.Reason != "container c1 has not restarted with the new metadata in its env yet" {
		t.Errorf("%q", p.Reason)
	}
	meta := readMeta(pod)
	meta.Containers[0].Hashes.ExtractedEnvFromMetadataHash = 0
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	pod.Annotations[appsv1beta1.RuntimeContainerMetaKey] = string(raw)
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].State.Running = &corev1.ContainerStateRunning{}
	}
	if p := advance(t, pod, t0); p.Reason != "the node agent has not read the env of container c1 yet, which takes the command env in its image" {
		t.Errorf("%q", p.Reason)
	}
}
