// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Rows of the behaviour contract that need a whole rollout and no API server. Others are golden stories, plans of one
// pass, or run on a real API server.

// mix counts the pods at the wanted revision and the others.
func (s *story) mix() (updated, old int) {
	for _, pod := range s.Truth() {
		switch {
		case !counts(pod):
		case carries(pod, s.update.Name):
			updated++
		default:
			old++
		}
	}
	return updated, old
}

func (s *story) expect(t *testing.T, what string, updated, old int) {
	t.Helper()
	if u, o := s.mix(); u != updated || o != old {
		t.Errorf("%s: %d updated and %d old pods, want %d and %d", what, u, o, updated, old)
	}
}

// OnDelete: a new template changes nothing; pods that somebody deletes come back new; scaling in takes old ones first.
func TestOnDelete(t *testing.T) {
	s := newStory(5, nil)
	s.set.Spec.UpdateStrategy.Type = appsv1beta1.CloneSetOnDeleteUpdateStrategyType
	s.tell(t, "5 replicas")
	s.use(1)
	s.tell(t, "new images")
	s.expect(t, "new template", 0, 5)
	for _, pod := range s.Truth()[:2] {
		s.Delete(pod.Name)
	}
	s.tell(t, "two are deleted")
	s.expect(t, "two deleted", 2, 3)
	s.set.Spec.Replicas = ptr.To[int32](3)
	s.tell(t, "3 replicas")
	s.expect(t, "scaled in", 2, 1)
	s.set.Spec.Replicas = ptr.To[int32](5)
	s.tell(t, "5 replicas again")
	s.expect(t, "scaled out", 4, 1)
}

// A percentage below 100% leaves one pod to update (CS-01).
func TestPartitionOf99Percent(t *testing.T) {
	s := newStory(4, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.Partition = ptr.To(intstr.FromString("99%")) })
	s.tell(t, "4 replicas, partition 99%")
	s.use(1)
	s.tell(t, "new images")
	s.expect(t, "partition 99%", 1, 3)
	budget, err := budgetOf(withDefaults(s.set), &s.options)
	if err != nil || budget.Replicas-budget.Partition != 1 {
		t.Errorf("%d expected to be updated, %v", budget.Replicas-budget.Partition, err)
	}
}

// minReadySeconds 10 and scaleStrategy.maxUnavailable 1: pods are made one at a time, 10 s apart at least.
func TestScaleOutIsPaced(t *testing.T) {
	s := newStory(4, nil)
	s.set.Spec.MinReadySeconds = 10
	s.set.Spec.ScaleStrategy.MaxUnavailable = amount(1)
	s.steps(t, "4 replicas", 80)
	made := s.Truth()
	if len(made) != 4 {
		t.Fatalf("%d pods", len(made))
	}
	for i := 1; i < len(made); i++ {
		if apart := made[i].CreationTimestamp.Sub(made[i-1].CreationTimestamp.Time); apart < 10*time.Second {
			t.Errorf("pod %d came %s after the one before", i, apart)
		}
	}
}

// With the gate a raised partition moves updated pods back, in place; without it nothing moves, and a later image
// leaves three revisions (CS-19).
func TestRaisedPartition(t *testing.T) {
	for name, rollback := range map[string]bool{"gate off": false, "gate on": true} {
		s := newStory(5, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
			r.Partition, r.MaxUnavailable = amount(2), amount(5)
		})
		s.options.PartitionRollback = rollback
		s.tell(t, "5 replicas, partition 2")
		before := len(s.Truth())
		s.use(1)
		s.tell(t, "second images")
		s.expect(t, name+", partition 2", 3, 2)
		s.rolling().Partition = amount(4)
		s.tell(t, "partition 4")
		if rollback {
			s.expect(t, name+", partition 4", 1, 4)
		} else {
			s.expect(t, name+", partition 4", 3, 2)
		}
		s.use(2)
		s.tell(t, "third images")
		images := map[string]int{}
		for _, pod := range s.Truth() {
			images[pod.Spec.Containers[0].Image]++
		}
		want := map[string]int{"a:0": 2, "a:1": 2, "a:2": 1}
		if rollback {
			want = map[string]int{"a:0": 4, "a:2": 1}
		}
		if diff := cmp.Diff(want, images); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(s.Truth()) != before {
			t.Errorf("%s: %d pods", name, len(s.Truth()))
		}
	}
}

// A pod that no node takes stays in PreparingNormal, and its gate is left alone.
func TestUnschedulablePods(t *testing.T) {
	s := newStory(1, nil)
	for range 5 {
		s.Now = s.Now.Add(time.Second)
		s.DeliverAll()
		if err := s.pass(); err != nil {
			t.Fatal(err)
		}
	}
	pod := s.Truth()[0]
	if state := pods.LifecycleState(pod); state != appsv1beta1.LifecycleStatePreparingNormal || len(pod.Status.Conditions) > 0 {
		t.Errorf("state %s, conditions %v", state, pod.Status.Conditions)
	}
	if len(s.waits) != 1 || s.waits[0].Reason != "PodsNotScheduled" {
		t.Errorf("waits %v", s.waits)
	}
}

// podsToDelete: with one replica less the pod goes for good, with as many as before it is replaced; the name is
// trimmed either way.
func TestPodsToDelete(t *testing.T) {
	for name, less := range map[string]int32{"one less": 1, "as many": 0} {
		s := newStory(3, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxUnavailable = amount(1) })
		s.tell(t, "3 replicas")
		victim := s.Truth()[1].UID
		s.set.Spec.ScaleStrategy.PodsToDelete = []string{s.Truth()[1].Name}
		s.set.Spec.Replicas = ptr.To(3 - less)
		s.tell(t, name)
		s.expect(t, name, 3-int(less), 0)
		for _, pod := range s.Truth() {
			if pod.UID == victim {
				t.Errorf("%s: the pod is still there", name)
			}
		}
		if left := s.set.Spec.ScaleStrategy.PodsToDelete; len(left) > 0 {
			t.Errorf("%s: names left: %v", name, left)
		}
	}
}

// A pod with a bad image beside healthy old ones: a fitting image is brought to it first, whatever the budget of the
// others (CS-14, CS-16).
func TestBrokenPodsAreUpdatedFirst(t *testing.T) {
	s := newStory(3, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxUnavailable = amount(1) })
	s.Bad["a:1"] = true
	s.tell(t, "3 replicas")
	s.use(1)
	s.tell(t, "a bad image")
	s.expect(t, "bad image", 1, 2)
	s.use(2)
	s.steps(t, "a good image", 1)
	for _, pod := range s.Truth() {
		if image, ready := pod.Spec.Containers[0].Image, pods.IsReady(pod); image == "a:1" || image == "a:2" && ready {
			t.Errorf("%s runs %s, ready %v", pod.Name, image, ready)
		}
	}
}

// A lifecycle of hooks nobody answers stops an update at maxUnavailable; taking the hook out of the spec lets it go on.
func TestHookTakenOutOfTheSpec(t *testing.T) {
	s := newStory(3, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxUnavailable = amount(1) })
	s.set.Spec.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{updateHook: "held"}, MarkPodNotReady: true}}
	s.switched = true
	s.tell(t, "3 replicas with an inPlaceUpdate hook")
	s.use(1)
	s.tell(t, "new images, nobody answers")
	s.expect(t, "hook held", 0, 3)
	s.set.Spec.Lifecycle = nil
	s.tell(t, "no hook any more")
	s.expect(t, "no hook", 3, 0)
	for _, pod := range s.Truth() {
		if !serves(pod, 0, s.Now) {
			t.Errorf("%s is not available: %v", pod.Name, pod.Status.Conditions)
		}
	}
}
