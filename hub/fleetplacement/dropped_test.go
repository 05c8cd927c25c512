// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func TestDroppedIsRememberedWhileItLasts(t *testing.T) {
	var d dropped
	at := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Second) }
	type since = map[string]time.Time
	for _, step := range []struct {
		name    string
		missing []string
		second  int
		want    since
	}{
		{"none", nil, 0, nil},
		{"the first", []string{"a"}, 1, since{"a": at(1)}},
		{"another", []string{"a", "b"}, 2, since{"a": at(1), "b": at(2)}},
		{"the first is back", []string{"b"}, 3, since{"b": at(2)}},
		{"and missing again", []string{"a", "b"}, 4, since{"a": at(4), "b": at(2)}},
		{"all are back", nil, 5, nil},
		{"anew", []string{"b"}, 6, since{"b": at(6)}},
	} {
		if diff := cmp.Diff(step.want, d.note("u", step.missing, at(step.second))); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	if got := d.note("v", []string{"b"}, at(7)); !got["b"].Equal(at(7)) {
		t.Error("placements are mixed up", got)
	}
	d.forget("u")
	if got := d.note("u", []string{"b"}, at(8)); !got["b"].Equal(at(8)) {
		t.Error("not forgotten", got)
	}
}

// A cluster that comes back is dropped still when its taint goes; its slice must outlive that.
func TestReturningClusterKeepsItsSlice(t *testing.T) {
	r := deciding()
	r.DropGrace = time.Minute
	s := standing()
	s.placement.Spec.ClusterNames, s.placement.Spec.PlacementRef = nil, &fleetv1alpha1.PlacementReference{Name: "p"}
	s.ocm = &clusterv1beta1.Placement{}
	s.decisions = []clusterv1beta1.PlacementDecision{{Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: "a"}}}}}
	taint := func(yes bool) {
		b := s.clusters["b"]
		b.Unreachable = yes
		s.clusters["b"] = b
	}
	now := metav1.Now()
	for _, step := range []struct {
		name    string
		after   time.Duration
		change  func()
		removed string
		again   time.Duration
	}{
		{"dropped before the taint is seen", 0, func() {}, "", time.Minute},
		{"tainted", 90 * time.Second, func() { taint(true) }, "", 0},
		{"the taint goes first", 200 * time.Second, func() { taint(false) }, "", time.Minute},
		{"still not decided", 230 * time.Second, func() {}, "", 30 * time.Second},
		{"dropped for good", 260 * time.Second, func() {}, "b", 0},
		{"while the slice goes, nothing is waited for", 600 * time.Second, func() { s.slices["b"].DeletionTimestamp = &now }, "b", 0},
	} {
		step.change()
		s.now = epoch.Add(step.after)
		r.noteDropped(s)
		d := r.decide(s)
		if got := names(d.remove); got != step.removed || d.again != step.again {
			t.Errorf("%s: removed %q, again %v", step.name, got, d.again)
		}
	}
}
