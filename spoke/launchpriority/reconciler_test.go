// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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

// waitsFor makes a container wait for its key, as the kubelet shows it.
func waitsFor(pod *corev1.Pod, at int) *corev1.Pod {
	pod.Status.ContainerStatuses[at].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: configError}}
	return pod
}

// A barrier may be taken away right after a step. The container that misses it says so once, and waits for ever if that
// was not heard.
func TestBarrierIsTakenAwayAtOnce(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{
		"the first key": podOf(one{name: "a", priority: 10}, one{name: "c"}),
		"all keys":      waitsFor(completed(podOf(one{name: "a", priority: 10}, one{name: "c"})), 0),
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fake.NewClientBuilder().WithObjects(pod.DeepCopy()).Build()
			clock := clocktesting.NewFakeClock(time.Unix(0, 0))
			r := &Reconciler{client: cluster, events: &told{}, clock: clock, done: lru.New(remembered)}
			if _, err := r.Reconcile(t.Context(), pod.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			want := dataNow(t, cluster)
			clock.Step(2 * again)
			missing := waitsFor(pod.DeepCopy(), 0)
			res, err := r.Reconcile(t.Context(), missing)
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Delete(t.Context(), found()); err != nil {
				t.Fatal(err)
			}
			clock.Step(again / 2)
			if r.needed().Update(event.UpdateEvent{ObjectOld: pod, ObjectNew: missing}) {
				t.Error("is written again and again")
			}
			if res.RequeueAfter == 0 {
				t.Fatal("nobody looks again")
			}
			clock.Step(res.RequeueAfter)
			if _, err := r.Reconcile(t.Context(), missing); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, dataNow(t, cluster)); diff != "" || len(want) == 0 {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

// A container that takes hours to be ready costs no requests meanwhile.
func TestNoRequestForWhatIsDone(t *testing.T) {
	pod := podOf(one{name: "a", priority: 10}, one{name: "c"})
	requests := 0
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	cluster := interceptor.NewClient(fake.NewClientBuilder().WithObjects(pod.DeepCopy()).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			requests++
			return c.Create(ctx, obj, opts...)
		},
	})
	r := &Reconciler{client: cluster, events: &told{}, clock: clock, done: lru.New(remembered)}
	for range 3 {
		if _, err := r.Reconcile(t.Context(), waitsFor(pod, 1)); err != nil {
			t.Fatal(err)
		}
		clock.Step(time.Hour)
	}
	if requests != 1 {
		t.Errorf("%d requests", requests)
	}
}
