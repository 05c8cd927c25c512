// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/internal/containerhash"
	"github.com/flotilla-sh/flotilla/nodeagent/containermeta"
)

func TestTrimmedPodSaysTheSame(t *testing.T) {
	start, yes := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), true
	always := corev1.ContainerRestartPolicyAlways
	fromLabel := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['v']"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "u", ResourceVersion: "7", Labels: map[string]string{"v": "1"},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n", RestartPolicy: corev1.RestartPolicyNever, InitContainers: []corev1.Container{{Name: "s", Image: "i"}}, Volumes: []corev1.Volume{{Name: "v"}},
			Containers: []corev1.Container{
				{Name: "a", Image: "i", RestartPolicy: &always, Env: []corev1.EnvVar{{Name: "X", Value: "1"}, {Name: "V", ValueFrom: fromLabel}}},
				{Name: "b", Image: "i", Env: []corev1.EnvVar{{Name: "V", ValueFrom: fromLabel}, {Name: "V", Value: "fixed"}}},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions:            []corev1.PodCondition{{Type: "InPlaceUpdateReady", Status: corev1.ConditionFalse}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "s", ContainerID: "c://3"}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "a", ContainerID: "c://1", RestartCount: 2, ImageID: "i", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}},
				{Name: "b", ContainerID: "c://2", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: start}}},
			},
		},
	}
	before := pod.DeepCopy()
	out, err := trimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	trimmed, ok := out.(*corev1.Pod)
	if !ok {
		t.Fatalf("trimPod gave a %T", out)
	}
	rules := containermeta.Rules{Start: start.Time, Env: true}
	want, got := containermeta.MakePlan(before, rules), containermeta.MakePlan(trimmed, rules)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(containermeta.Plan{})); diff != "" || want.Reason != containermeta.Due {
		t.Errorf("plan of the trimmed pod (-full +trimmed):\n%s", diff)
	}
	for i := range before.Spec.Containers {
		want, got := containerhash.ExpectedEnv(&before.Spec.Containers[i], before), containerhash.ExpectedEnv(&trimmed.Spec.Containers[i], trimmed)
		if want != got {
			t.Errorf("container %d: environment hash %d, want %d", i, got, want)
		}
	}
	if trimmed.Status.PodIP != "10.0.0.1" || trimmed.Spec.InitContainers[0].Name != "s" || trimmed.Status.InitContainerStatuses[0].ContainerID != "c://3" {
		t.Errorf("probes miss something: %+v", trimmed)
	}
	if trimmed.Spec.RestartPolicy != corev1.RestartPolicyNever || trimmed.Spec.Containers[0].RestartPolicy == nil {
		t.Errorf("restarts miss the policies: %+v", trimmed.Spec)
	}
	if trimmed.ManagedFields != nil || trimmed.Spec.Volumes != nil || trimmed.Spec.Containers[0].Image != "" || trimmed.ResourceVersion != "7" {
		t.Errorf("trimmed to %+v", trimmed)
	}
}

func TestTrimPodRefusesOtherKinds(t *testing.T) {
	if _, err := trimPod(&corev1.Node{}); err == nil {
		t.Error("a Node went through")
	}
}
