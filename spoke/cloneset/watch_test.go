// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

// The list of what a pod filter must never drop (CS-11 and its kin), and what it may.
func TestPodFilter(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		passes bool
	}{
		"lifecycle label":        {func(p *corev1.Pod) { p.Labels = map[string]string{appsv1beta1.LifecycleStateKey: "Normal"} }, true},
		"revision label":         {func(p *corev1.Pod) { p.Labels = map[string]string{appsv1beta1.ControllerRevisionHashLabel: "x"} }, true},
		"hook finalizer (CS-11)": {func(p *corev1.Pod) { p.Finalizers = []string{"x/f"} }, true},
		"failed":                 {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"what the kubelet knows": {func(p *corev1.Pod) { p.Status.ObservedGeneration = 2 }, true},
		"deletion":               {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }, true},
		"ready": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, true},
		"image id":     {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", ImageID: "x"}} }, true},
		"scheduled":    {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, true},
		"annotation":   {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, true},
		"owner":        {func(p *corev1.Pod) { p.OwnerReferences = nil }, true},
		"spec":         {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "a:2" }, true},
		"address only": {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1"; p.ResourceVersion = "9" }, false},
	} {
		before := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "u"}}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}}},
		}
		after := before.DeepCopy()
		tc.change(after)
		if got := podChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.passes {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSetFilterDropsOurOwnStatus(t *testing.T) {
	var r Reconciler
	before := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1}}
	after := before.DeepCopy()
	after.Status.Replicas = 3
	after.Status.Conditions = []appsv1beta1.Condition{{Type: "Waiting", LastTransitionTime: metav1.NewTime(noon.Add(time.Millisecond))}}
	if !r.setChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("somebody else's status must be put right")
	}
	r.sent.remember(after)
	after.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon) // as the API server tells it
	if r.setChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a status write must not wake us")
	}
	after.Generation = 2
	if !r.setChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a new generation must")
	}
	for name, change := range map[string]func(*appsv1beta1.CloneSet){
		"label":      func(s *appsv1beta1.CloneSet) { s.Labels = map[string]string{"a": "b"} },
		"annotation": func(s *appsv1beta1.CloneSet) { s.Annotations = map[string]string{"a": "b"} },
		"deletion":   func(s *appsv1beta1.CloneSet) { s.DeletionTimestamp = &metav1.Time{Time: noon} },
	} {
		after := before.DeepCopy()
		change(after)
		if !r.setChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
			t.Errorf("a change of its %s must", name)
		}
	}
}

// Of claims their coming and going counts, and that they begin to go; what is written into them does not.
func TestClaimFilter(t *testing.T) {
	before := claimOf("a", nil)
	after := before.DeepCopy()
	after.Status.Phase = corev1.ClaimBound
	if claimChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a binding wakes us")
	}
	after.DeletionTimestamp = &metav1.Time{Time: noon}
	if f := claimChanged(); !f.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) ||
		!f.Create(event.CreateEvent{Object: before}) || !f.Delete(event.DeleteEvent{Object: before}) {
		t.Error("a claim that goes, or comes, must")
	}
}

// A set that is deleted in the middle of its work, with no finalizer that would make a last pass, leaves nothing behind.
func TestDeletedSetIsForgotten(t *testing.T) {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	expected := &execute.Expectations{}
	expected.Created(set.UID, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, noon)
	r := &Reconciler{executor: &execute.Executor{Expectations: expected}}
	if missing, _ := expected.Unseen(set.UID, &corev1.Pod{}, nil); !missing {
		t.Fatal("nothing to forget")
	}
	if !r.setGone().Delete(event.DeleteEvent{Object: set}) {
		t.Error("the event is dropped")
	}
	if missing, _ := expected.Unseen(set.UID, &corev1.Pod{}, nil); missing {
		t.Error("it still waits for a pod")
	}
}

// The last writes of a pass may be noted after the set is gone: the end of the pass forgets them, and nobody else's.
func TestSetDeletedDuringAPassIsForgotten(t *testing.T) {
	for name, tc := range map[string]struct {
		there types.UID
		left  bool
	}{"gone": {"", false}, "made anew": {"another", false}, "still there": {"u", true}} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}}
			var there []client.Object
			if tc.there != "" {
				now := set.DeepCopy()
				now.UID = tc.there
				there = append(there, now)
			}
			sets, _, _ := metricsOf(t, there...)
			expected := &execute.Expectations{}
			expected.Created(set.UID, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, noon)
			r := &Reconciler{client: sets, executor: &execute.Executor{Expectations: expected}}
			r.Clock = clocktesting.NewFakePassiveClock(noon)
			(&pass{Reconciler: r, set: set, began: noon}).end(context.Background())
			if missing, _ := expected.Unseen(set.UID, &corev1.Pod{}, nil); missing != tc.left {
				t.Errorf("waits for a pod: %v", missing)
			}
		})
	}
}
