// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestAdmit(t *testing.T) {
	stamp := map[string]string{AcceptedOn: "2026-05-01T12:00:00Z"}
	type in struct {
		labels, annotations map[string]string
		claim               string
		accepted            bool
	}
	tests := map[string]struct {
		in                  in
		labels, annotations map[string]string
		accepted            bool
	}{
		"a new cluster": {
			labels: map[string]string{clusterv1beta2.ClusterSetLabel: "default"}, annotations: stamp, accepted: true},
		"accepted by somebody": {in: in{accepted: true},
			labels: map[string]string{clusterv1beta2.ClusterSetLabel: "default"}, accepted: true},
		"denied later": {in: in{annotations: map[string]string{AcceptedOn: "then"}},
			labels: map[string]string{clusterv1beta2.ClusterSetLabel: "default"}, annotations: map[string]string{AcceptedOn: "then"}},
		"in a set of its own, with a region": {
			in:     in{accepted: true, labels: map[string]string{clusterv1beta2.ClusterSetLabel: "mine"}, claim: "west"},
			labels: map[string]string{clusterv1beta2.ClusterSetLabel: "mine", "topology.kubernetes.io/region": "west"}, accepted: true},
		"in another region now": {
			in:     in{accepted: true, labels: map[string]string{"topology.kubernetes.io/region": "east"}, claim: "west"},
			labels: map[string]string{clusterv1beta2.ClusterSetLabel: "default", "topology.kubernetes.io/region": "west"}, accepted: true},
		"in two regions": {in: in{accepted: true, claim: "east,west"},
			labels: map[string]string{clusterv1beta2.ClusterSetLabel: "default"}, accepted: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := &clusterv1.ManagedCluster{}
			c.Labels, c.Annotations, c.Spec.HubAcceptsClient = tt.in.labels, tt.in.annotations, tt.in.accepted
			if tt.in.claim != "" {
				c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "region", Value: tt.in.claim}}
			}
			got := admit(c, now)
			if diff := cmp.Diff(tt.labels, got.Labels); diff != "" {
				t.Errorf("labels: %s", diff)
			}
			if diff := cmp.Diff(tt.annotations, got.Annotations); diff != "" {
				t.Errorf("annotations: %s", diff)
			}
			if got.Spec.HubAcceptsClient != tt.accepted || len(got.Finalizers) != 1 {
				t.Errorf("accepted %v, finalizers %v", got.Spec.HubAcceptsClient, got.Finalizers)
			}
			if diff := cmp.Diff(got, admit(got, now.Add(time.Hour))); diff != "" {
				t.Errorf("not the same a second time: %s", diff)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	c := &clusterv1.ManagedCluster{}
	for name, tt := range map[string]struct {
		seconds int32
		age     time.Duration
		want    bool
	}{
		"fresh":                 {seconds: 4, age: 4 * time.Second},
		"late, within grace":    {seconds: 4, age: 20*time.Second - 1},
		"grace is over":         {seconds: 4, age: 20 * time.Second, want: true},
		"the default, in grace": {age: 299 * time.Second},
		"the default, over":     {age: 300 * time.Second, want: true},
	} {
		c.Spec.LeaseDurationSeconds = tt.seconds
		got := expired(c, now.Add(-tt.age), now)
		if (got != nil) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		if got != nil && (got.Status != metav1.ConditionUnknown || got.Reason != "ManagedClusterLeaseUpdateStopped") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTaintsFor(t *testing.T) {
	then := metav1.NewTime(now.Add(-time.Minute))
	unreachable := clusterv1.Taint{Key: clusterv1.ManagedClusterTaintUnreachable, Effect: "NoSelect", TimeAdded: metav1.NewTime(now)}
	unavailable := clusterv1.Taint{Key: clusterv1.ManagedClusterTaintUnavailable, Effect: "NoSelect", TimeAdded: metav1.NewTime(now)}
	before := unreachable
	before.TimeAdded = then
	foreign := clusterv1.Taint{Key: "mine", Effect: "NoSelectIfNew", TimeAdded: then}
	unstamped := clusterv1.Taint{Key: "mine", Effect: "NoSelectIfNew"}
	stamped := clusterv1.Taint{Key: "mine", Effect: "NoSelectIfNew", TimeAdded: metav1.NewTime(now)}
	for name, tt := range map[string]struct {
		taints    []clusterv1.Taint
		available metav1.ConditionStatus
		want      []clusterv1.Taint
	}{
		"nothing known":              {want: []clusterv1.Taint{unreachable}},
		"available":                  {available: "True"},
		"unavailable":                {available: "False", want: []clusterv1.Taint{unavailable}},
		"unreachable":                {available: "Unknown", want: []clusterv1.Taint{unreachable}},
		"unreachable for some time":  {available: "Unknown", taints: []clusterv1.Taint{before}, want: []clusterv1.Taint{before}},
		"back":                       {available: "True", taints: []clusterv1.Taint{foreign, before}, want: []clusterv1.Taint{foreign}},
		"from unreachable to answer": {available: "False", taints: []clusterv1.Taint{before, foreign}, want: []clusterv1.Taint{foreign, unavailable}},
		"a taint without a time":     {available: "True", taints: []clusterv1.Taint{unstamped}, want: []clusterv1.Taint{stamped}},
	} {
		t.Run(name, func(t *testing.T) {
			var conditions []metav1.Condition
			if tt.available != "" {
				conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: tt.available}}
			}
			got := taintsFor(tt.taints, conditions, now)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(got, taintsFor(got, conditions, now.Add(time.Hour))); diff != "" {
				t.Errorf("not the same a second time: %s", diff)
			}
		})
	}
}

func TestContacts(t *testing.T) {
	const gap = 8 * time.Second
	c := contacts{}
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	for _, step := range []struct{ at, since int }{
		{0, 0}, {4, 0}, {8, 0}, // read all the time
		{16, 0},  // just in time
		{60, 60}, // the hub was away: grace begins anew
		{64, 60}, {68, 60},
	} {
		if got := c.record("c", at(step.at), gap); !got.Equal(at(step.since)) {
			t.Errorf("at %d s: in contact since %v, want %d s", step.at, got.Sub(now), step.since)
		}
	}
	if got := c.record("other", at(70), gap); !got.Equal(at(70)) {
		t.Errorf("another cluster: %v", got)
	}
}

func TestConditions(t *testing.T) {
	c := &clusterv1.ManagedCluster{}
	if got := accepted(c, now); got.Status != "False" || got.Reason != "HubClusterAdminDenied" {
		t.Error(got)
	}
	c.Spec.HubAcceptsClient = true
	if got := accepted(c, now); got.Status != "True" || got.Reason != "HubClusterAdminAccepted" {
		t.Error(got)
	}
	if got := setCondition(0, now); got.Status != "True" || got.Type != "ClusterSetEmpty" {
		t.Error(got)
	}
	if got := setCondition(2, now); got.Status != "False" {
		t.Error(got)
	}
	binding := &clusterv1beta2.ManagedClusterSetBinding{}
	if boundCondition(binding, true, now).Status != "True" || boundCondition(binding, false, now).Status != "False" {
		t.Error("bound")
	}
	if deleting("", now).Status != "True" || deleting("2 works", now).Message != "waiting for 2 works" {
		t.Error("deleting")
	}
}
