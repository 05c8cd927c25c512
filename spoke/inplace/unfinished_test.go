// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
