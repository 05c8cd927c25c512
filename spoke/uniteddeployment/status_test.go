// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func counted(l liveSubset, replicas, ready, updated, updatedReady int32) liveSubset {
	l.statusReplicas, l.readyReplicas, l.updatedReplicas, l.updatedReadyReplicas = replicas, ready, updated, updatedReady
	return l
}

func condition(kind string, status corev1.ConditionStatus, reason string) appsv1beta1.Condition {
	return appsv1beta1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: epoch}
}

func TestStatusCounts(t *testing.T) {
	ud := cloneSetUD(5, subset("a", 2), subset("b", 3))
	ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1, "b": 9}}
	ud.Status.SubsetStatuses = []appsv1beta1.UnitedDeploymentSubsetStatus{{Name: "gone", Replicas: 4, ReadyReplicas: 4}, {Name: "b"}}
	s := snapshotOf(ud, counted(atRest(ud, "a", sizing{replicas: 2, partition: 1}), 2, 2, 1, 1), counted(atRest(ud, "b", sizing{replicas: 3, partition: 3}), 3, 2, 2, 1))
	got := statusOf(s, makePlan(s), &outcome{}, epoch)
	want := &appsv1beta1.UnitedDeploymentStatus{
		ObservedGeneration: 3, Replicas: 5, ReadyReplicas: 4, UpdatedReplicas: 3, UpdatedReadyReplicas: 2,
		CurrentRevision: "web-1", UpdatedRevision: "web-2", LabelSelector: "app=web",
		SubsetStatuses: []appsv1beta1.UnitedDeploymentSubsetStatus{
			{Name: "gone"}, {Name: "b", Replicas: 3, ReadyReplicas: 2, Partition: 3}, {Name: "a", Replicas: 2, ReadyReplicas: 2, Partition: 1},
		},
		Conditions: []appsv1beta1.Condition{condition("UnitedDeploymentUpdated", "False", "UnitedDeploymentRevisionUpdating")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ud.Status = *got
	if again := statusOf(s, makePlan(s), &outcome{}, epoch); !sameStatus(got, again) {
		t.Error(cmp.Diff(got, again))
	}
}

func TestStatusPromotesTheRevision(t *testing.T) {
	ud := cloneSetUD(2, subset("a", 2))
	for name, tc := range map[string]struct {
		updatedReady int32
		want         string
	}{"not yet": {1, "web-1"}, "all": {2, "web-2"}} {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(ud, counted(atRest(ud, "a", sizing{replicas: 2}), 2, 2, 2, tc.updatedReady))
			if got := statusOf(s, makePlan(s), &outcome{}, epoch); got.CurrentRevision != tc.want {
				t.Errorf("currentRevision = %s, want %s", got.CurrentRevision, tc.want)
			}
		})
	}
}

func TestStatusConditions(t *testing.T) {
	ud := cloneSetUD(2, subset("a", 2))
	failed := condition(appsv1beta1.SubsetProvisioned, corev1.ConditionFalse, "Error")
	for name, tc := range map[string]struct {
		before     []appsv1beta1.Condition
		outcome    outcome
		noPlan     bool
		want       map[string]string
		generation int64
	}{
		"nothing to do":       {nil, outcome{}, false, map[string]string{"UnitedDeploymentUpdated": "True UnitedDeploymentRevisionUpdated"}, 3},
		"created":             {nil, outcome{provisioned: 1}, false, map[string]string{"UnitedDeploymentUpdated": "True UnitedDeploymentRevisionUpdated", "SubsetProvisioned": "True "}, 3},
		"create refused":      {nil, outcome{provisionErr: errors.New("x")}, false, map[string]string{"UnitedDeploymentUpdated": "True UnitedDeploymentRevisionUpdated", "SubsetProvisioned": "False Error"}, 0},
		"update refused":      {nil, outcome{updateErr: errors.New("x")}, false, map[string]string{"UnitedDeploymentUpdated": "True UnitedDeploymentRevisionUpdated", "SubsetUpdated": "False Error"}, 0},
		"failure is over":     {[]appsv1beta1.Condition{failed}, outcome{}, false, map[string]string{"UnitedDeploymentUpdated": "True UnitedDeploymentRevisionUpdated", "SubsetProvisioned": "True "}, 3},
		"kind not served":     {nil, outcome{unserved: "no"}, true, map[string]string{"SubsetProvisioned": "False TemplateNotSupported"}, 3},
		"what was not served": {[]appsv1beta1.Condition{condition("AdaptiveSchedule", "False", "NotReserving")}, outcome{}, false, map[string]string{"UnitedDeploymentUpdated": "True UnitedDeploymentRevisionUpdated"}, 3},
		"gathering refused":   {[]appsv1beta1.Condition{condition("SubsetUpdated", "False", "Error")}, outcome{provisionErr: errors.New("x")}, true, map[string]string{"SubsetUpdated": "False Error", "SubsetProvisioned": "False Error"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ud := ud.DeepCopy()
			ud.Status.Conditions = tc.before
			s := snapshotOf(ud, counted(atRest(ud, "a", sizing{replicas: 2}), 2, 2, 2, 2))
			p := makePlan(s)
			if tc.noPlan {
				p = nil
			}
			status := statusOf(s, p, &tc.outcome, epoch)
			got := map[string]string{}
			for _, c := range status.Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if status.ObservedGeneration != tc.generation {
				t.Errorf("observedGeneration = %d, want %d", status.ObservedGeneration, tc.generation)
			}
		})
	}
}

func TestDefaultedKeepsAnOpenTotal(t *testing.T) {
	sums := cloneSetUD(0, subset("a", 3), subset("b", 3))
	sums.Spec.Replicas = nil
	if got := defaulted(sums).Spec.Replicas; got != nil {
		t.Errorf("replicas = %d, want none", *got)
	}
	open := cloneSetUD(0, subset("a", 3), subset("b", -1))
	open.Spec.Replicas = nil
	if got := defaulted(open).Spec.Replicas; got == nil || *got != 1 {
		t.Errorf("replicas = %v, want 1", got)
	}
}
