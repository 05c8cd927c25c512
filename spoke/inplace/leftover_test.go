// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

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

func TestOverMergesByKey(t *testing.T) {
	amounts := func(pairs ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return out
	}
	left := &Spec{
		ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"a": "2", "b": "2"}}},
		ContainerResources:   map[string]corev1.ResourceRequirements{"c1": {Limits: amounts("cpu", "2", "memory", "2")}},
	}
	got, err := Spec{
		Revision: "w-3", ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"b": "3"}}, "c2": {Annotations: map[string]string{"c": "3"}}},
		ContainerResources: map[string]corev1.ResourceRequirements{"c1": {Limits: amounts("cpu", "3"), Requests: amounts("cpu", "1")}},
	}.over(left)
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Revision: "w-3", ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"a": "2", "b": "3"}}, "c2": {Annotations: map[string]string{"c": "3"}}},
		ContainerResources: map[string]corev1.ResourceRequirements{"c1": {Limits: amounts("cpu", "3", "memory", "2"), Requests: amounts("cpu", "1")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left.ContainerRefMetadata["c1"].Labels["b"] != "2" || len(left.ContainerRefMetadata) != 1 {
		t.Error("what was left is changed")
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
