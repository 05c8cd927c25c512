// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podreadiness

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/internal/features"
)

func TestMutate(t *testing.T) {
	yes := true
	ours := []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Controller: &yes}}
	gate := []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}}
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		gates  []corev1.PodReadinessGate
		want   bool
	}{
		"ours":      {ours, nil, true},
		"there":     {ours, gate, false},
		"not ours":  {[]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Controller: &yes}}, nil, false},
		"ownerless": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: tc.owners}, Spec: corev1.PodSpec{ReadinessGates: tc.gates}}
			got, err := Gate{}.Mutate(context.Background(), pod)
			if err != nil || got != tc.want {
				t.Errorf("changed %v, error %v", got, err)
			}
			if tc.want && !hasGate(pod, "KruisePodReady") {
				t.Error("no gate")
			}
		})
	}
}

// With gate KruisePodReadinessGate every pod gets the readiness gate.
func TestMutateEveryPod(t *testing.T) {
	if err := features.Gate.SetFromMap(map[string]bool{string(features.KruisePodReadinessGate): true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = features.Gate.SetFromMap(map[string]bool{string(features.KruisePodReadinessGate): false}) })
	pod := &corev1.Pod{}
	if changed, err := (Gate{}).Mutate(context.Background(), pod); err != nil || !changed || !hasGate(pod, "KruisePodReady") {
		t.Errorf("changed %v, error %v", changed, err)
	}
}

func TestClosedAndOpen(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}, {ConditionType: "InPlaceUpdateReady"}, {ConditionType: "other"}}},
	}
	if d := cmp.Diff([]corev1.PodConditionType{"InPlaceUpdateReady", "KruisePodReady"}, closed(pod)); d != "" {
		t.Error(d)
	}
	patch, err := open(pod, closed(pod), metav1.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"uid":"u","resourceVersion":"7"},"status":{"conditions":[` +
		`{"type":"InPlaceUpdateReady","status":"True","lastTransitionTime":"1970-01-01T00:00:00Z"},` +
		`{"type":"KruisePodReady","status":"True","lastTransitionTime":"1970-01-01T00:00:00Z"}]}}`
	if d := cmp.Diff(want, string(patch)); d != "" {
		t.Error(d)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "KruisePodReady", Status: "False"}, {Type: "InPlaceUpdateReady"}}
	if got := closed(pod); got != nil {
		t.Errorf("closed = %v though both conditions are there", got)
	}
	now := metav1.Now()
	pod.Status.Conditions, pod.DeletionTimestamp = nil, &now
	if got := closed(pod); got != nil {
		t.Errorf("closed = %v of a pod that goes", got)
	}
	yes := true
	pod.DeletionTimestamp, pod.Labels = nil, map[string]string{"lifecycle.apps.kruise.io/state": "PreparingNormal"}
	if got := closed(pod); len(got) != 2 {
		t.Errorf("closed = %v of a pod that only looks like ours", got)
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Controller: &yes}}
	if got := closed(pod); got != nil {
		t.Errorf("closed = %v of a pod whose workload opens them", got)
	}
}
