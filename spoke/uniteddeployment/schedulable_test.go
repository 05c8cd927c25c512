// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// pendingPod found no node since it was made, so long before the epoch.
func pendingPod(age time.Duration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(epoch.Add(-age))}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	return pod
}

// adaptive makes the schedule Adaptive, with its default times.
func adaptive(ud *appsv1beta1.UnitedDeployment) *appsv1beta1.UnitedDeployment {
	ud.Spec.Topology.ScheduleStrategy.Type = appsv1beta1.AdaptiveUnitedDeploymentScheduleStrategyType
	return ud
}

func TestPace(t *testing.T) {
	ud := cloneSetUD(2, subset("a", -1))
	if p := paceOf(ud); p != nil {
		t.Errorf("Fixed: %v", p)
	}
	if d := cmp.Diff(&pace{critical: 30 * time.Second, unschedulable: 300 * time.Second}, paceOf(adaptive(ud)), cmp.AllowUnexported(pace{})); d != "" {
		t.Error(d)
	}
	ud.Spec.Topology.ScheduleStrategy.Adaptive = &appsv1beta1.AdaptiveUnitedDeploymentStrategy{RescheduleCriticalSeconds: ptr.To[int32](10), UnschedulableDuration: ptr.To[int32](-1)}
	if d := cmp.Diff(&pace{critical: 10 * time.Second}, paceOf(ud), cmp.AllowUnexported(pace{})); d != "" {
		t.Error(d)
	}
}

// The rows of the spec, at 30 s for a pod and 300 s for a subset.
func TestJudge(t *testing.T) {
	p := &pace{critical: 30 * time.Second, unschedulable: 300 * time.Second}
	since := func(age time.Duration) *appsv1beta1.Condition {
		c := isFalse(appsv1beta1.UnitedDeploymentSubsetSchedulable, reasonReschedule, "")
		c.LastTransitionTime = metav1.NewTime(epoch.Add(-age))
		return &c
	}
	recovered := appsv1beta1.Condition{Type: "Schedulable", Status: corev1.ConditionTrue, Reason: "recover"}
	found := isFalse("Schedulable", "reschedule", "1 pods found no node within 30s: the subset keeps what is ready and its minimum for 5m0s")
	for name, tc := range map[string]struct {
		before      *appsv1beta1.Condition
		ready, pods int32
		pending     []*corev1.Pod
		want        verdict
	}{
		"all ready":               {nil, 2, 2, nil, verdict{}},
		"pending for 15 s":        {nil, 1, 2, []*corev1.Pod{pendingPod(15 * time.Second)}, verdict{recheck: 15 * time.Second}},
		"pending for 31 s":        {nil, 1, 2, []*corev1.Pod{pendingPod(31 * time.Second)}, verdict{unschedulable: true, late: 1, set: []appsv1beta1.Condition{found}, recheck: 300 * time.Second}},
		"one late, one not yet":   {nil, 0, 2, []*corev1.Pod{pendingPod(31 * time.Second), pendingPod(20 * time.Second)}, verdict{unschedulable: true, late: 1, set: []appsv1beta1.Condition{found}, recheck: 10 * time.Second}},
		"the status lags":         {nil, 1, 1, []*corev1.Pod{pendingPod(time.Hour)}, verdict{}},
		"not ready for other why": {nil, 0, 1, []*corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodPending}}}, verdict{}},
		"found a minute ago":      {since(time.Minute), 1, 1, nil, verdict{unschedulable: true, marked: true, recheck: 240 * time.Second}},
		"found 6 min ago":         {since(6 * time.Minute), 1, 1, nil, verdict{marked: true, set: []appsv1beta1.Condition{recovered}}},
		"and pending again":       {since(6 * time.Minute), 1, 2, []*corev1.Pod{pendingPod(time.Minute)}, verdict{unschedulable: true, marked: true, late: 1, set: []appsv1beta1.Condition{recovered, found}, recheck: 300 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			live := &liveSubset{numbers: numbers{statusReplicas: tc.pods, readyReplicas: tc.ready}, pods: tc.pending}
			if d := cmp.Diff(tc.want, judge(tc.before, live, p, epoch.Time), cmp.AllowUnexported(verdict{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// Replicas move away from a subset that cannot schedule them, its condition says why, and the pass is made again when it
// may be tried anew.
func TestAdaptivePass(t *testing.T) {
	ud := adaptive(cloneSetUD(10, subset("a", -1), subset("b", -1)))
	ud.Spec.Topology.Subsets[0].MinReplicas, ud.Spec.Topology.Subsets[0].MaxReplicas = ptr.To(intstr.FromInt32(3)), ptr.To(intstr.FromInt32(5))
	a := counted(atRest(ud, "a", sizing{replicas: 5}), 5, 4, 5, 4)
	a.pods = []*corev1.Pod{pendingPod(31 * time.Second)}
	s := snapshotOf(ud, a, counted(atRest(ud, "b", sizing{replicas: 5}), 5, 5, 5, 5))
	s.now = epoch.Time
	p := makePlan(s)
	if d := cmp.Diff(map[string]sizing{"a": {replicas: 4}, "b": {replicas: 6}}, p.sizes, cmp.AllowUnexported(sizing{})); d != "" {
		t.Error(d)
	}
	if p.recheck != 300*time.Second {
		t.Errorf("again after %v", p.recheck)
	}
	status := statusOf(s, p, &outcome{}, epoch)
	c := conditions.FindCompat(entry(status, "a").Conditions, "Schedulable")
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != "reschedule" || !c.LastTransitionTime.Equal(&epoch) {
		t.Fatalf("%+v", c)
	}
	if told := planEvents(ud, p); len(told) != 1 || told[0].Reason != "SubsetUnschedulable" {
		t.Errorf("%+v", told)
	}
	if b := entry(status, "b"); len(b.Conditions) > 0 {
		t.Errorf("b: %+v", b.Conditions)
	}

	// The next pass, a minute later, keeps to it and writes nothing.
	ud.Status = *status
	s.now = epoch.Add(time.Minute)
	s.live[0] = counted(atRest(ud, "a", sizing{replicas: 4}), 4, 4, 4, 4)
	s.live[1] = counted(atRest(ud, "b", sizing{replicas: 6}), 6, 6, 6, 6)
	p = makePlan(s)
	if len(p.updates)+len(p.creates)+len(p.deletes) > 0 || p.recheck != 240*time.Second {
		t.Errorf("updates %+v, again after %v", p.updates, p.recheck)
	}
	// With another schedule nobody knows.
	ud.Spec.Topology.ScheduleStrategy.Type = ""
	status = statusOf(s, makePlan(s), &outcome{}, epoch)
	if a := entry(status, "a"); len(a.Conditions) > 0 {
		t.Errorf("Fixed: %+v", a.Conditions)
	}
}
