// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobemarker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

func newPod(node string, phase corev1.PodPhase) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "main"}}
	always := corev1.ContainerRestartPolicyAlways
	pod.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always}, {Name: "once"}}
	pod.Status = corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}}}
	return pod
}

func newMarker(name string, probes ...v1alpha1.PodContainerProbe) *v1alpha1.PodProbeMarker {
	m := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 3}}
	m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	m.Spec.Probes = probes
	return m
}

func TestPlan(t *testing.T) {
	held, now := []string{v1alpha1.PodProbeMarkerFinalizer}, metav1.Now()
	with := func(finalizers []string, deleted *metav1.Time, status v1alpha1.PodProbeMarkerStatus) *v1alpha1.PodProbeMarker {
		m := newMarker("m")
		m.Finalizers, m.DeletionTimestamp, m.Status = finalizers, deleted, status
		return m
	}
	settled := v1alpha1.PodProbeMarkerStatus{ObservedGeneration: 3, MatchedPods: 2}
	pods := []corev1.Pod{newPod("n1", corev1.PodRunning), newPod("n2", corev1.PodRunning), newPod("n1", corev1.PodSucceeded), newPod("", corev1.PodPending), newPod("gone", corev1.PodRunning)}
	nodes := map[string]bool{"n1": true, "n2": true, "gone": false}
	for name, tc := range map[string]struct {
		s    snapshot
		want plan
	}{
		"new":          {snapshot{with(nil, nil, v1alpha1.PodProbeMarkerStatus{}), pods, nodes, nil}, plan{hold: true, status: &settled, reason: "it is in force"}},
		"settled":      {snapshot{with(held, nil, settled), pods, nodes, nil}, plan{reason: "it is in force"}},
		"pods left":    {snapshot{with(held, nil, settled), pods[:1], nodes, nil}, plan{status: &v1alpha1.PodProbeMarkerStatus{ObservedGeneration: 3, MatchedPods: 1}, reason: "it is in force"}},
		"deleted":      {snapshot{with(held, &now, settled), nil, nil, []string{"n1"}}, plan{reason: "its probes are still asked for"}},
		"cleaned up":   {snapshot{with(held, &now, settled), nil, nil, nil}, plan{release: true, reason: "it is deleted"}},
		"others' turn": {snapshot{with([]string{"other"}, &now, settled), nil, nil, nil}, plan{reason: "it is deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, makePlan(&tc.s), cmp.AllowUnexported(plan{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestServerless(t *testing.T) {
	p := func(name, container, condition string) v1alpha1.PodContainerProbe {
		return v1alpha1.PodContainerProbe{
			Name: name, ContainerName: container, PodConditionType: condition,
			MarkerPolicy: []v1alpha1.ProbeMarkerPolicy{{State: v1alpha1.ProbeSucceeded, Labels: map[string]string{"a": "b"}}},
		}
	}
	for name, tc := range map[string]struct {
		markers []client.Object
		want    map[string]string
	}{
		"none": {nil, nil},
		"of another namespace": {func() []client.Object {
			m := newMarker("m", p("a", "main", "A"))
			m.Namespace = "other"
			return []client.Object{m}
		}(), nil},
		"not selected": {func() []client.Object {
			m := newMarker("m", p("a", "main", "A"))
			m.Spec.Selector.MatchLabels["app"] = "other"
			return []client.Object{m}
		}(), nil},
		"nothing of use": {[]client.Object{newMarker("m", p("a", "main", ""), p("b", "once", "B"), p("c", "none", "C"), p("d", "main", "KruisePodReady"))}, nil},
		"several": {
			[]client.Object{
				newMarker("z", p("a", "main", "Z"), p("z", "side", "Y")), newMarker("b", p("a", "main", "A"), p("b", "main", "B")), newMarker("c", p("c", "main", "A")),
			},
			map[string]string{
				"kruise.io/podprobe": `[{"name":"a","containerName":"main","probe":{},"podConditionType":"A"},{"name":"b","containerName":"main","probe":{},"podConditionType":"B"},` +
					`{"name":"z","containerName":"side","probe":{},"podConditionType":"Y"}]`,
				"kruise.io/podprobemarker-list": "b,z",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			pod := newPod("", corev1.PodPending)
			changed, err := Serverless{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.markers...).Build()}.Mutate(t.Context(), &pod)
			if err != nil || changed != (tc.want != nil) {
				t.Errorf("changed %v, %v", changed, err)
			}
			if diff := cmp.Diff(tc.want, pod.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIndexOfMarkers(t *testing.T) {
	npp := &v1alpha1.NodePodProbe{Spec: v1alpha1.NodePodProbeSpec{PodProbes: []v1alpha1.PodProbe{
		{Namespace: "ns", Probes: []v1alpha1.ContainerProbe{{Name: "m#a"}, {Name: "m#b"}, {Name: "web-0-main"}}},
		{Namespace: "other", Probes: []v1alpha1.ContainerProbe{{Name: "m#a"}, {Name: ""}}},
	}}}
	want := map[client.ObjectKey]bool{{Namespace: "ns", Name: "m"}: true, {Namespace: "other", Name: "m"}: true}
	if diff := cmp.Diff(want, podprobe.MarkersIn(npp)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
