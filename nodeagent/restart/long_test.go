// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// CR-01: while a container takes its time to end, the requests that wait are told so: the spoke takes one of which the
// agent says nothing for a minute for one that no agent has seen.
func TestWhoWaitsForALongStopIsTold(t *testing.T) {
	first := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
	w := newWorld(t, 1, first)
	w.calm, w.slow = true, true
	ask := func(name string) {
		r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "b")
		r.Name, r.UID, r.Status.Phase = name, types.UID(name), ""
		r.CreationTimestamp = metav1.NewTime(t0.Add(time.Second))
		if err := w.live.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	phases := func(want map[string]v1beta1.ContainerRecreateRequestPhase) {
		t.Helper()
		got := map[string]v1beta1.ContainerRecreateRequestPhase{}
		for _, r := range w.requests() {
			got[r.Name] = r.Status.Phase
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
	}
	for range 3 {
		w.agent()
	}
	if !w.long {
		t.Fatal("nothing is being stopped")
	}
	ask("second")
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": recreating, "second": pending})

	// The first is over at its deadline; what it began is not, and the next one waits for that.
	over := w.requests()[0]
	over.Status.Phase = completed
	if err := w.live.Status().Update(t.Context(), &over); err != nil {
		t.Fatal(err)
	}
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": completed, "second": pending})
	gone := w.requests()[1]
	if err := w.live.Delete(t.Context(), &gone); err != nil {
		t.Fatal(err)
	}
	ask("third")
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": completed, "third": pending})

	w.endOfStop()
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": completed, "third": recreating})
	want := []State{{Name: "a", Phase: recreating, IsKilled: true}}
	if diff := cmp.Diff(want, w.requests()[0].Status.ContainerRecreateStates); diff != "" {
		t.Errorf("what became of the container that was being stopped (-want +got):\n%s", diff)
	}
}

// A stop ends with its pod. Requests for another pod of the name (a StatefulSet's) do not wait for it.
func TestAnotherPodOfTheNameDoesNotWait(t *testing.T) {
	first := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
	w := newWorld(t, 1, first)
	w.calm, w.slow = true, true
	for range 3 {
		w.agent()
	}
	if !w.long {
		t.Fatal("nothing is being stopped")
	}
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "other-uid"}}
	pod.Spec = corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "a"}}}
	r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
	r.Name, r.UID, r.Status.Phase = "new", types.UID("new"), ""
	r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = string(pod.UID)
	r.Spec.Containers[0].StatusContext.ContainerID = "containerd://other"
	for _, err := range []error{w.live.Delete(t.Context(), old), w.live.Delete(t.Context(), first.DeepCopy()), w.live.Create(t.Context(), pod), w.live.Create(t.Context(), r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.list = append(w.list, &cri.Container{
		ID: "other", Name: "a", Pod: cri.PodRef{Namespace: "ns", Name: "p", UID: string(pod.UID)}, State: cri.ContainerRunning, StartedAt: t0,
	})
	w.agent()
	<-w.over // of the first, which is given up
	w.long = false
	for range 3 {
		w.agent()
	}
	w.endOfStop()
	if got := w.requests()[0].Status.Phase; got != recreating || w.times["other"] != 1 || w.times["a1"] != 0 {
		t.Errorf("the request for the new pod is %s, stopped are %v", got, w.stops)
	}
}
