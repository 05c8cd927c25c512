// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A revision's name and its short hash are interchangeable.
func TestSameRevision(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"web-abc", "web-abc", true}, {"web-abc", "abc", true}, {"abc", "my-web-abc", true}, {"other-abc", "web-abc", true},
		{"web-abc", "web-abd", false}, {"abc", "abd", false}, {"", "", true}, {"", "abc", false}, {"web-", "", false},
	} {
		if got := SameRevision(tc.a, tc.b); got != tc.want {
			t.Errorf("%q and %q: %v", tc.a, tc.b, got)
		}
	}
}

// ready is a pod that became ready ten seconds ago.
func ready(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-10 * time.Second))}}},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

func TestAvailability(t *testing.T) {
	gate := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: appsv1beta1.InPlaceUpdateReady, Status: status})
		}
	}
	state := func(s appsv1beta1.LifecycleStateType) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels[appsv1beta1.LifecycleStateKey] = string(s) }
	}
	for name, tc := range map[string]struct {
		change    func(*corev1.Pod)
		minReady  time.Duration
		available bool
		wait      time.Duration
	}{
		"ready":                    {nil, 0, true, 0},
		"ready for long enough":    {nil, 10 * time.Second, true, 0},
		"not for long enough":      {nil, 12 * time.Second, false, 2 * time.Second},
		"ready since nobody knows": {func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Time{} }, time.Second, false, 0},
		"not ready":                {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, 0, false, 0},
		"no condition":             {func(p *corev1.Pod) { p.Status.Conditions = nil }, 0, false, 0},
		"pending":                  {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, 0, false, 0},
		"failed":                   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, 0, false, 0},
		"being deleted":            {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }, 0, false, 0},
		"gate open":                {gate(corev1.ConditionTrue), 0, true, 0},
		"gate closed":              {gate(corev1.ConditionFalse), 0, false, 0},
		"Normal":                   {state(appsv1beta1.LifecycleStateNormal), 0, true, 0},
		"PreparingNormal":          {state(appsv1beta1.LifecycleStatePreparingNormal), 0, false, 0},
		"PreparingUpdate":          {state(appsv1beta1.LifecycleStatePreparingUpdate), 0, false, 0},
		"Updating":                 {state(appsv1beta1.LifecycleStateUpdating), 0, false, 0},
		"Updated":                  {state(appsv1beta1.LifecycleStateUpdated), 0, false, 0},
		"PreparingDelete":          {state(appsv1beta1.LifecycleStatePreparingDelete), 0, false, 0},
	} {
		available, wait := Availability(ready(tc.change), tc.minReady, noon)
		if available != tc.available || wait != tc.wait {
			t.Errorf("%s: %v after %v", name, available, wait)
		}
	}
}

// Finished and terminating pods are not active; the label for deletion counts whatever its value.
func TestPredicates(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]bool{corev1.PodPending: true, corev1.PodRunning: true, corev1.PodUnknown: true, "": true, corev1.PodSucceeded: false, corev1.PodFailed: false} {
		if got := IsActive(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got != want {
			t.Errorf("%s: %v", phase, got)
		}
	}
	if IsActive(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: noon}}}) {
		t.Error("a terminating pod is active")
	}
	for _, value := range []string{"", "true", "false"} {
		if !IsSpecifiedDelete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1beta1.SpecifiedDeleteKey: value}}}) {
			t.Errorf("value %q", value)
		}
	}
	if IsSpecifiedDelete(&corev1.Pod{}) {
		t.Error("a pod without labels")
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"new": "", "old": "x"}}}
	if value, ok := Annotation(pod, "new", "old"); value != "x" || !ok {
		t.Errorf("%q %v", value, ok)
	}
	if _, ok := Annotation(&corev1.Pod{}, "new", "old"); ok {
		t.Error("a pod without annotations has one")
	}
}
