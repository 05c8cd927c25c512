// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// story is a rollout told step by step.
type story struct {
	*sim
	out   strings.Builder
	begin time.Time
	max   int
	min   int
}

func newStory(replicas int32, change func(*appsv1beta1.RollingUpdateCloneSetStrategy)) *story {
	s := &story{sim: newSim(1), min: 1 << 30}
	s.begin = s.Now
	s.set.Spec.Replicas = &replicas
	rolling := &appsv1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType}
	if change != nil {
		change(rolling)
	}
	s.set.Spec.UpdateStrategy.RollingUpdate = rolling
	return s
}

func (s *story) rolling() *appsv1beta1.RollingUpdateCloneSetStrategy {
	return s.set.Spec.UpdateStrategy.RollingUpdate
}

// tell runs the world without chance until nothing moves, and writes down what happened.
func (s *story) tell(t *testing.T, event string) {
	t.Helper()
	fmt.Fprintf(&s.out, "== %s\n", event)
	for s.rest = 0; s.rest < 6; {
		s.tick(t)
	}
}

// steps runs a number of steps.
func (s *story) steps(t *testing.T, event string, n int) {
	t.Helper()
	fmt.Fprintf(&s.out, "== %s\n", event)
	for range n {
		s.tick(t)
	}
}

func (s *story) tick(t *testing.T) {
	t.Helper()
	s.Now = s.Now.Add(time.Second)
	s.Settle()
	s.answerHooks()
	s.DeliverAll()
	if err := s.pass(); err != nil {
		t.Fatal(err)
	}
	total, available, updated := 0, 0, 0
	for _, pod := range s.Truth() {
		if !pods.IsActive(pod) {
			continue
		}
		total++
		if ok, _ := pods.Availability(pod, time.Duration(s.set.Spec.MinReadySeconds)*time.Second, s.Now); ok {
			available++
		}
		if pods.SameRevision(pods.Revision(pod), s.update.Name) {
			updated++
		}
	}
	s.max, s.min = max(s.max, total), min(s.min, available)
	if len(s.Log) == 0 {
		return
	}
	fmt.Fprintf(&s.out, "%3ds  %d pods, %d available, %d updated\n", int(s.Now.Sub(s.begin).Seconds()), total, available, updated)
	for _, line := range s.Log {
		fmt.Fprintf(&s.out, "      %s\n", line)
	}
	s.Log = nil
}

// counted starts the highest total and the lowest availability anew.
func (s *story) counted() { s.max, s.min = 0, 1<<30 }

func (s *story) compare(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join("testdata", name+".log")
	if *updateGolden {
		if err := os.WriteFile(file, []byte(s.out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), s.out.String()); diff != "" {
		t.Errorf("%s (run with -update when it is right) (-want +got):\n%s", file, diff)
	}
}

func amount(n int) *intstr.IntOrString { return ptr.To(intstr.FromInt(n)) }

func TestGoldenInPlacePartition(t *testing.T) {
	s := newStory(10, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.Partition, r.MaxUnavailable = amount(8), ptr.To(intstr.FromString("20%"))
	})
	s.tell(t, "10 replicas, partition 8, maxUnavailable 20%")
	s.counted()
	s.use(1)
	s.tell(t, "new images")
	s.rolling().Partition = amount(0)
	s.tell(t, "partition 0")
	if s.min < 8 || s.max > 10 {
		t.Errorf("between %d available and %d pods", s.min, s.max)
	}
	s.compare(t, "inplace-partition")
}

// CS-04: each step uses all the surge that is left to use: 3, 3, 2.
func TestGoldenRecreateWithSurge(t *testing.T) {
	s := newStory(8, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.PodUpdatePolicy, r.MaxSurge, r.MaxUnavailable = appsv1beta1.RecreatePodUpdateStrategyType, amount(3), amount(0)
	})
	s.tell(t, "8 replicas, maxSurge 3, maxUnavailable 0")
	s.counted()
	s.use(4)
	s.tell(t, "new env")
	if s.min < 8 || s.max != 11 {
		t.Errorf("between %d available and %d pods", s.min, s.max)
	}
	s.compare(t, "recreate-surge")
}

func TestGoldenRollbackInGrace(t *testing.T) {
	s := newStory(3, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.InPlaceUpdateStrategy = &appsv1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 10}
		r.MaxUnavailable = amount(1)
	})
	s.tell(t, "3 replicas, grace period 10 s")
	s.use(1)
	s.steps(t, "new images", 4)
	s.use(0)
	s.tell(t, "back within the grace period")
	for _, pod := range s.Truth() {
		if pod.Spec.Containers[0].Image != "a:0" || pod.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("%s restarted %d times", pod.Spec.Containers[0].Image, pod.Status.ContainerStatuses[0].RestartCount)
		}
	}
	s.compare(t, "rollback-in-grace")
}

// Pausing gives the surge back and starts nothing new (CS-07).
func TestGoldenPausedWithSurge(t *testing.T) {
	s := newStory(4, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.PodUpdatePolicy, r.MaxSurge, r.MaxUnavailable = appsv1beta1.RecreatePodUpdateStrategyType, amount(2), amount(1)
	})
	s.tell(t, "4 replicas, maxSurge 2, maxUnavailable 1")
	s.use(4)
	s.steps(t, "new env", 2)
	s.rolling().Paused = true
	s.tell(t, "paused")
	s.rolling().Paused = false
	s.tell(t, "resumed")
	s.compare(t, "paused-surge")
}

// A bad image stops at maxUnavailable; the next one replaces the broken pods first (CS-14).
func TestGoldenBadImage(t *testing.T) {
	s := newStory(5, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxUnavailable = amount(2) })
	s.Bad["a:1"] = true
	s.tell(t, "5 replicas, maxUnavailable 2")
	s.counted()
	s.use(1)
	s.tell(t, "a bad image")
	s.use(2)
	s.tell(t, "a good image")
	if s.min < 3 {
		t.Errorf("%d available", s.min)
	}
	s.compare(t, "bad-image")
}

// minReadySeconds paces the rollout (CS-31).
func TestGoldenMinReady(t *testing.T) {
	s := newStory(3, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.PodUpdatePolicy, r.MaxSurge, r.MaxUnavailable = appsv1beta1.RecreatePodUpdateStrategyType, amount(1), amount(0)
	})
	s.set.Spec.MinReadySeconds = 20
	s.steps(t, "3 replicas, minReadySeconds 20, maxSurge 1, maxUnavailable 0", 30)
	s.counted()
	s.use(4)
	s.steps(t, "new env", 100)
	if s.min < 3 || s.max != 4 {
		t.Errorf("between %d available and %d pods", s.min, s.max)
	}
	s.compare(t, "min-ready")
}

// Hooks hold an in-place update and let it go; going back before that restarts nothing (CS-13).
func TestGoldenHooks(t *testing.T) {
	s := newStory(2, func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxUnavailable = amount(1) })
	s.set.Spec.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{updateHook: "held"}}}
	s.tell(t, "2 replicas with an inPlaceUpdate hook")
	s.use(1)
	s.tell(t, "new images, nobody answers the hook")
	s.use(0)
	s.tell(t, "back before the hook was answered")
	s.handled = true
	s.use(1)
	s.tell(t, "new images, hooks are answered")
	s.compare(t, "hooks")
}
