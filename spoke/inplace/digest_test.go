// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"testing"

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
