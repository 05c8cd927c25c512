// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnschedulableFor(t *testing.T) {
	born := time.Unix(1000, 0)
	unschedulable := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(born)}}
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		for _, change := range changes {
			change(pod)
		}
		return pod
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		age  time.Duration
		late bool
		wait time.Duration
	}{
		"early":              {unschedulable(), 15 * time.Second, false, 15 * time.Second},
		"on time":            {unschedulable(), 30 * time.Second, false, time.Nanosecond},
		"late":               {unschedulable(), 31 * time.Second, true, 0},
		"on a node":          {unschedulable(func(p *corev1.Pod) { p.Spec.NodeName = "n" }), time.Hour, false, 0},
		"being deleted":      {unschedulable(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), time.Hour, false, 0},
		"running":            {unschedulable(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), time.Hour, false, 0},
		"not looked at":      {unschedulable(func(p *corev1.Pod) { p.Status.Conditions = nil }), time.Hour, false, 0},
		"gated":              {unschedulable(func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }), time.Hour, false, 0},
		"has found its node": {unschedulable(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }), time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			late, wait := UnschedulableFor(tc.pod, 30*time.Second, born.Add(tc.age))
			if late != tc.late || wait != tc.wait {
				t.Errorf("late %v, wait %v", late, wait)
			}
		})
	}
}
