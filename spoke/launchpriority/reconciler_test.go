// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flotilla-sh/flotilla/internal/events"
)

// told keeps events as text.
type told []string

func (e *told) Publish(list ...events.Event) {
	for _, one := range list {
		*e = append(*e, one.Type+" "+one.Reason+": "+one.Note)
	}
}

// LP-03: the kubelet shows an error for containers that wait. Who wonders finds out on the pod that it is none; once for
// each level, however often the pod is looked at.
func TestEachLevelIsToldOnce(t *testing.T) {
	pod := podOf(one{name: "a", priority: 10}, one{name: "c"}, one{name: "b", priority: 5})
	cluster := fake.NewClientBuilder().WithObjects(pod).WithStatusSubresource(pod).Build()
	clock, got := clocktesting.NewFakeClock(time.Unix(0, 0)), &told{}
	r := &Reconciler{client: cluster, events: got, clock: clock, done: lru.New(remembered)}
	look := func() {
		t.Helper()
		for range 3 {
			var now corev1.Pod
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Reconcile(t.Context(), &now); err != nil {
				t.Fatal(err)
			}
			clock.Step(again)
		}
	}
	ready := func(at int) {
		t.Helper()
		var now corev1.Pod
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
			t.Fatal(err)
		}
		now.Status.ContainerStatuses[at].Ready = true
		if err := cluster.Status().Update(t.Context(), &now); err != nil {
			t.Fatal(err)
		}
		look()
	}
	look()
	ready(0)
	ready(2)
	want := told{
		"Normal ContainersWaitInOrder: containers b (priority 5), c (priority 0) wait until all of higher priority are ready; the kubelet shows CreateContainerConfigError for them meanwhile, which is how they wait and no fault",
		"Normal ContainersReleased: containers b of priority 5 may start: those of higher priority are ready",
		"Normal ContainersReleased: containers c of priority 0 may start: those of higher priority are ready",
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A start costs nothing for each pod that has ended: its end counts when it is seen.
func TestEndsThatAreSeen(t *testing.T) {
	r, _ := reconcilerOf(nil)
	runs := completed(podOf(one{name: "a", priority: 10}, one{name: "c"}))
	ended := runs.DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	labelled := ended.DeepCopy()
	labelled.Labels = map[string]string{"seen": "true"}
	begins := podOf(one{name: "a", priority: 10}, one{name: "c"})
	if r.needed().Create(event.CreateEvent{Object: ended}) {
		t.Error("looks at a pod that ended before the start")
	}
	if r.needed().Update(event.UpdateEvent{ObjectOld: ended, ObjectNew: labelled}) {
		t.Error("looks at an ended pod again")
	}
	if !r.needed().Update(event.UpdateEvent{ObjectOld: runs, ObjectNew: ended}) {
		t.Error("misses the end of a pod")
	}
	if !r.needed().Create(event.CreateEvent{Object: begins}) || !r.needed().Update(event.UpdateEvent{ObjectOld: begins, ObjectNew: begins}) {
		t.Error("misses a pod that begins")
	}
	if r.needed().Create(event.CreateEvent{Object: runs}) || r.needed().Delete(event.DeleteEvent{Object: begins}) {
		t.Error("looks at a pod that needs nothing")
	}
}

// An event that is too long would be refused.
func TestEventsOfManyContainers(t *testing.T) {
	var many []one
	for i := range 40 {
		many = append(many, one{name: fmt.Sprintf("%s-%d", strings.Repeat("n", 60), i), priority: -i})
	}
	pod := podOf(many...)
	note := eventOf(pod, Next(pod)).Note
	if len(note) > 1024 || !strings.Contains(note, "and 29 more wait") {
		t.Errorf("%d letters: %s", len(note), note)
	}
}
