// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// A runtime that has two tags of one digest may report a container by the tag it does not run, as containerd does: a
// change from c1:2 to c1:1 looks done before anything happened. The node agent's report tells.
func TestCompletionWhereTheRuntimeMixesTagsUp(t *testing.T) {
	for name, tc := range map[string]struct {
		agent, restarts, want bool
	}{
		"agent, not restarted yet": {agent: true},
		"agent, restarted":         {agent: true, restarts: true, want: true},
		"no agent":                 {want: true}, // nothing tells
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			status := &pod.Status.ContainerStatuses[0]
			pod.Spec.Containers[0].Image = "c1:2"
			if tc.agent {
				writeMeta(pod)
			}
			begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:1"}})
			if tc.restarts {
				status.ContainerID = "cri://second" // and the agent has not looked since
			}
			if got := IsComplete(pod); got != tc.want {
				t.Errorf("complete %v, want %v", got, tc.want)
			}
		})
	}
}

// An update taken back before the kubelet saw it restarts nothing, so no restart may be waited for.
func TestCompletionOfAnUpdateTakenBackUnseen(t *testing.T) {
	pod := runningPod(fourContainers())
	writeMeta(pod)
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}})
	if IsComplete(pod) {
		t.Error("complete before the restart")
	}
	begin(t, pod, Spec{Revision: "w-1", ContainerImages: map[string]string{"c1": "c1:1"}})
	for _, meta := range []string{pod.Annotations[appsv1beta1.RuntimeContainerMetaKey], ""} {
		pod.Annotations[appsv1beta1.RuntimeContainerMetaKey] = meta
		if !IsComplete(pod) {
			t.Errorf("waits for a restart that will not come, report %q", meta)
		}
	}
}

// ranAtT0 is what is recorded of a container of runningPod whose change is written at t0.
func ranAtT0(name string) ContainerStatus {
	since := metav1.NewTime(t0)
	return ContainerStatus{ImageID: "id-" + name + ":1", ContainerID: "cri://" + name + "-" + name + ":1", Since: &since}
}

// Without a node agent nothing but the restart tells that a container runs another tag of its digest which its runtime
// never names.
func TestCompletionByTheRestartAlone(t *testing.T) {
	started := func(id string, after time.Duration) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			status := &pod.Status.ContainerStatuses[0]
			status.ContainerID = "cri://" + id
			status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t0.Add(after))}
		}
	}
	for name, tc := range map[string]struct {
		play func(*corev1.Pod)
		want bool
	}{
		"nothing happened":                     {play: func(*corev1.Pod) {}},
		"a container made after the change":    {started("second", time.Second), true},
		"in the same second":                   {started("second", 0), true},
		"the same container":                   {play: started("c1-c1:1", time.Second)},
		"another, made before the change":      {play: started("second", -time.Second)},
		"the kubelet does not know the change": {play: func(pod *corev1.Pod) { started("second", time.Second)(pod); pod.Generation++ }},
		"nobody tells what the kubelet knows": {play: func(pod *corev1.Pod) {
			started("second", time.Second)(pod)
			pod.Generation, pod.Status.ObservedGeneration = 0, 0
		}},
		"made after the change, and ended again": {play: func(pod *corev1.Pod) {
			started("second", time.Second)(pod)
			pod.Status.ContainerStatuses[0].State.Running = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			pod.Generation, pod.Status.ObservedGeneration = 2, 2
			begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:same"}})
			tc.play(pod)
			if got := IsComplete(pod); got != tc.want {
				t.Errorf("complete %v, want %v", got, tc.want)
			}
		})
	}
}

// A pod that never starts is given one image after the other. What is noted of them does not grow for ever, and knows
// the last ones.
func TestImagesNotedAreBounded(t *testing.T) {
	pod := runningPod(fourContainers())
	pod.Status.ContainerStatuses[0].ImageID = ""
	for i := range 3 * mostImages {
		begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": fmt.Sprint("c1:", i%(2*mostImages)+2)}})
	}
	state, err := ReadState(pod)
	if err != nil {
		t.Fatal(err)
	}
	images := state.LastContainerStatuses["c1"].Images
	if len(images) != mostImages {
		t.Fatalf("%d images are noted", len(images))
	}
	status := &pod.Status.ContainerStatuses[0]
	status.ImageID, status.Image = "sha:late", images[0]
	if IsComplete(pod) {
		t.Error("an image of before is taken for the wanted one")
	}
}
