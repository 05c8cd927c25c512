// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

func TestProbed(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"runs":              {func(*corev1.Pod) {}, true},
		"has no IP yet":     {func(p *corev1.Pod) { p.Status.PodIP = "" }, true},
		"is not scheduled":  {func(p *corev1.Pod) { p.Spec.NodeName = "" }, false},
		"is initializing":   {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"has no conditions": {func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		"has ended":         {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false},
		"is being deleted":  {func(p *corev1.Pod) { p.DeletionTimestamp = &now }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}},
			}}
			tc.change(pod)
			if got := Probed(pod); got != tc.want {
				t.Errorf("probed: %v", got)
			}
		})
	}
}

func TestContainer(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main"}}, InitContainers: []corev1.Container{{Name: "side", RestartPolicy: &always}, {Name: "once"}},
	}}
	for name, want := range map[string]bool{"main": true, "side": true, "once": false, "none": false, "": false} {
		if HasContainer(pod, name) != want {
			t.Errorf("container %q: %v", name, !want)
		}
	}
}

// Markers that were stored before admission looked at them, or that go, select nothing.
func TestMarkers(t *testing.T) {
	now := metav1.Now()
	marker := func(name string, selector *metav1.LabelSelector) v1alpha1.PodProbeMarker {
		m := v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		m.Spec.Selector = selector
		return m
	}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	going := marker("going", web)
	going.DeletionTimestamp = &now
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	list := Markers([]v1alpha1.PodProbeMarker{marker("z", web), marker("a", web), marker("nil", nil), marker("empty", &metav1.LabelSelector{}), marker("bad", bad), going})
	var names []string
	for _, m := range list {
		if m.Selects(map[string]string{"app": "web"}) {
			names = append(names, m.Name)
		}
		if m.Selects(nil) || m.Selects(map[string]string{"app": "db"}) {
			t.Errorf("%s selects what it should not", m.Name)
		}
	}
	if !slices.Equal(names, []string{"a", "z"}) {
		t.Errorf("in force: %v", names)
	}
}

func TestNames(t *testing.T) {
	marker, probe, ok := v1alpha1.SplitNodeProbeName(v1alpha1.NodeProbeName("m", "p"))
	if marker != "m" || probe != "p" || !ok {
		t.Errorf("%q %q %v", marker, probe, ok)
	}
	for _, name := range []string{"", "web-0-main"} {
		if _, _, ok := v1alpha1.SplitNodeProbeName(name); ok {
			t.Errorf("%q is taken for a marker's", name)
		}
	}
}
