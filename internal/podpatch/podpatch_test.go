// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"encoding/json"
)

// The server's own merge of the rendered patch must give what ApplyTo says.
func TestApplyToAgreesWithStrategicMerge(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: "u", Labels: map[string]string{"keep": "1", "drop": "1"}, Finalizers: []string{"a"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x:1", Command: []string{"c"}}, {Name: "y", Image: "y:1"}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: "Other", Status: "True"},
			{Type: "Gate", Status: "False", Reason: "Why", Message: "because"},
		}},
	}
	for name, patch := range map[string]func(*Patch){
		"labels":             func(p *Patch) { p.Label("new", "2"); p.DropLabel("drop"); p.DropLabel("absent") },
		"annotations on nil": func(p *Patch) { p.Annotate("a", "1"); p.DropAnnotation("b") },
		"finalizers":         func(p *Patch) { p.Finalizers = []string{"a", "b"} },
		"image":              func(p *Patch) { p.Image("y", "y:2") },
		"resources": func(p *Patch) {
			p.Resize("y", corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}})
		},
		"plain condition clears reason and message": func(p *Patch) {
			p.Conditions = []corev1.PodCondition{{Type: "Gate", Status: "True"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p Patch
			patch(&p)
			body, err := p.JSON("u", "")
			if err != nil {
				t.Fatal(err)
			}
			before, _ := json.Marshal(pod)
			merged, err := strategicpatch.StrategicMergePatch(before, body, corev1.Pod{})
			if err != nil {
				t.Fatal(err)
			}
			var server corev1.Pod
			if err := json.Unmarshal(merged, &server); err != nil {
				t.Fatal(err)
			}
			ours := pod.DeepCopy()
			p.ApplyTo(ours)
			roundTrip(t, ours)
			if diff := cmp.Diff(&server, ours); diff != "" {
				t.Errorf("server and ApplyTo differ (-server +ours):\n%s", diff)
			}
		})
	}
}

func TestMergeLetsTheLaterWin(t *testing.T) {
	var a, b Patch
	a.Label("k", "1")
	a.Image("c", "1")
	b.DropLabel("k")
	b.Image("c", "2")
	b.Conditions = []corev1.PodCondition{{Type: "Gate", Status: "True"}}
	a.Merge(b)
	if a.Labels["k"] != nil || a.Images["c"] != "2" || !a.OnStatus() {
		t.Errorf("merge = %+v", a)
	}
	if (&Patch{}).OnStatus() || !(&Patch{}).Empty() || a.Empty() {
		t.Error("Empty or OnStatus is wrong")
	}
}

func roundTrip(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	*pod = corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		t.Fatal(err)
	}
}
