// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
)

// said returns "Type=Status/Reason" of every condition, and the states of the clusters.
func said(status fleetv1alpha1.FleetPlacementStatus) (out []string) {
	for _, c := range status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	for _, c := range status.Clusters {
		out = append(out, fmt.Sprintf("%s:%s %d/%d", c.Name, c.State, c.ReadyReplicas, c.DesiredReplicas))
	}
	return out
}

func TestStatus(t *testing.T) {
	const resolved, placed, complete, fresh = "Resolved=True/Resolved", "FleetPlaced=True/Placed", "FleetProgressing=False/Complete", "FleetStatusFresh=True/Fresh"
	applied := func(s *snapshot, status metav1.ConditionStatus, reason string) {
		s.slices["b"].Status.Conditions[0].Status, s.slices["b"].Status.Conditions[0].Reason = status, reason
	}
	for name, tc := range map[string]struct {
		change   func(*snapshot, *outcome)
		want     []string
		observed bool
	}{
		"all is well": {func(*snapshot, *outcome) {}, []string{resolved, placed, complete, fresh, "a:Applied 1/1", "b:Applied 1/1"}, true},
		"one has not observed": {func(s *snapshot, _ *outcome) { s.slices["b"].Generation = 3 },
			[]string{resolved, placed, "FleetProgressing=True/RollingOut", fresh, "b:Pending 1/1", "a:Applied 1/1"}, false},
		"one is not ready": {func(s *snapshot, _ *outcome) { s.slices["b"].Status.Subsets[0].ReadyReplicas = 0 },
			[]string{resolved, placed, "FleetProgressing=True/RollingOut", fresh, "a:Applied 1/1", "b:Applied 0/1"}, true},
		"conflict": {func(s *snapshot, _ *outcome) { applied(s, "False", fleetv1alpha1.SliceReasonConflict) },
			[]string{resolved, placed, "FleetProgressing=True/Conflict", fresh, "b:Conflict 1/1", "a:Applied 1/1"}, false},
		"rejected": {func(s *snapshot, _ *outcome) { applied(s, "False", fleetv1alpha1.SliceReasonRejected) },
			[]string{resolved, placed, "FleetProgressing=True/ApplyFailed", fresh, "b:Failed 1/1", "a:Applied 1/1"}, false},
		"lease too old": {func(s *snapshot, _ *outcome) { s.renewed["b"] = epoch.Add(-41 * time.Second) },
			[]string{resolved, placed, complete, "FleetStatusFresh=False/Stale", "b:Stale 1/1", "a:Applied 1/1"}, true},
		"back, its report awaited": {func(s *snapshot, _ *outcome) { s.settling = map[string]bool{"b": true} },
			[]string{resolved, placed, complete, "FleetStatusFresh=False/Stale", "b:Stale 1/1", "a:Applied 1/1"}, true},
		"stale and behind: the others are observed": {func(s *snapshot, _ *outcome) { delete(s.renewed, "b"); s.slices["b"].Generation = 3 },
			[]string{resolved, placed, "FleetProgressing=True/RollingOut", "FleetStatusFresh=False/Stale", "b:Stale 1/1", "a:Applied 1/1"}, true},
		"no longer chosen": {func(s *snapshot, _ *outcome) { s.placement.Spec.ClusterNames = []string{"a"} },
			[]string{resolved, placed, "FleetProgressing=True/Deleting", fresh, "b:Deleting 1/0", "a:Applied 1/1"}, false},
		"not written": {func(_ *snapshot, o *outcome) { o.failed = map[string]error{"b": errors.New("no")} },
			[]string{resolved, "FleetPlaced=False/ApplyFailed", "FleetProgressing=True/ApplyFailed", fresh, "b:Failed 1/1", "a:Applied 1/1"}, false},
		"an earlier share is in the way": {func(s *snapshot, o *outcome) {
			o.failed = map[string]error{"b": slice.ErrDeleting}
			now := metav1.Now()
			s.slices["b"].DeletionTimestamp = &now
		}, []string{resolved, "FleetPlaced=False/Deleting", "FleetProgressing=True/Deleting", fresh, "b:Deleting 1/1", "a:Applied 1/1"}, false},
		"newly written": {func(s *snapshot, o *outcome) {
			delete(s.slices, "b")
			one := held("b")
			one.Status = fleetv1alpha1.FleetSliceStatus{}
			o.written = map[string]*fleetv1alpha1.FleetSlice{"b": one}
		}, []string{resolved, placed, "FleetProgressing=True/RollingOut", fresh, "b:Pending 0/1", "a:Applied 1/1"}, false},
		"unknown cluster": {func(s *snapshot, _ *outcome) { s.placement.Spec.ClusterNames = []string{"a", "b", "z"} },
			[]string{"Resolved=False/UnknownClusters", placed, complete, fresh, "a:Applied 1/1", "b:Applied 1/1"}, true},
		"nothing chosen": {func(s *snapshot, _ *outcome) {
			s.placement.Spec.ClusterNames = []string{"z"}
			s.slices = nil
		}, []string{"Resolved=False/UnknownClusters", "FleetPlaced=False/NoClusters", "FleetProgressing=False/NoClusters", fresh}, true},
		"taken: what is there stays": {func(s *snapshot, _ *outcome) { s.holder = "q" },
			[]string{"Resolved=False/TargetTaken", "FleetPlaced=False/TargetTaken", "FleetProgressing=False/TargetTaken", fresh, "a:Applied 1/1", "b:Applied 1/1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, r, out := standing(), deciding(), outcome{}
			tc.change(s, &out)
			d := r.decide(s)
			members := membersOf(s, d, out, r.StaleAfter)
			summary := summarize(s, d, out, members)
			status := statusOf(s, d, members, summary)
			if diff := cmp.Diff(tc.want, said(status)); diff != "" {
				t.Error(diff)
			}
			if summary.Observed != tc.observed {
				t.Errorf("observed = %v", summary.Observed)
			}
			if status.ObservedGeneration != 5 || !turned(s.placement.Status, status) {
				t.Errorf("generation %d, turned %v", status.ObservedGeneration, turned(s.placement.Status, status))
			}
			s.placement.Status, s.now = status, epoch.Add(time.Second)
			again := statusOf(s, d, members, summarize(s, d, out, members))
			if diff := cmp.Diff(status, again); diff != "" || turned(status, again) {
				t.Errorf("a second pass changes %s", diff)
			}
		})
	}
}

func TestWhatIsNotSecuredIsSaid(t *testing.T) {
	s, r := standing(), deciding()
	s.placement.Spec.ClusterNames = []string{"a"}
	d := r.decide(s)
	d.notSecured(errors.New("the hub may not"))
	members := membersOf(s, d, outcome{}, r.StaleAfter)
	summary := summarize(s, d, outcome{}, members)
	want := []string{"Resolved=True/Resolved", "FleetPlaced=False/ApplyFailed", "FleetProgressing=False/ApplyFailed", "FleetStatusFresh=True/Fresh", "a:Applied 1/1", "b:Applied 1/1"}
	if diff := cmp.Diff(want, said(statusOf(s, d, members, summary))); diff != "" || summary.Observed || len(d.desired)+len(d.remove) > 0 {
		t.Errorf("%s; observed %v, %+v", diff, summary.Observed, d)
	}
	if c := placedCondition(d, outcome{}); c.Message != "the hub may not" {
		t.Error(c.Message)
	}
}

func TestShortIsSaid(t *testing.T) {
	s := standing()
	d := deciding().decide(s)
	d.plan.Short = []share.Shortage{{Replicas: 3, Why: "no room"}}
	d.plan.Notes = []string{"note"}
	c := placedCondition(d, outcome{})
	if c.Reason != fleetv1alpha1.ReasonInsufficientCapacity || c.Message != "3 replicas have no place: no room" {
		t.Error(c)
	}
	d.plan.Short = nil
	if c := placedCondition(d, outcome{}); c.Status != metav1.ConditionTrue || c.Message != "note" {
		t.Error(c)
	}
}

func TestDetailsAreBoundedAndTroubleComesFirst(t *testing.T) {
	var members []member
	for i := range 70 {
		m := member{cluster: fmt.Sprintf("c%02d", i), state: fleetv1alpha1.ClusterApplied}
		if i == 65 {
			m.state, m.message = fleetv1alpha1.ClusterFailed, strings.Repeat("x", 5000)
		}
		members = append(members, m)
	}
	got := details(members)
	if len(got) != 50 || got[0].Name != "c65" || got[1].Name != "c00" || len(got[0].Message) > 1024 {
		t.Errorf("%d, %s, %s", len(got), got[0].Name, got[1].Name)
	}
}

func TestStaleness(t *testing.T) {
	available, not := cluster("a"), placement.Cluster{Name: "a"}
	for name, tc := range map[string]struct {
		cluster        placement.Cluster
		known, reports bool
		renewed        time.Time
		want           string
	}{
		"fresh":       {available, true, true, epoch, ""},
		"unknown":     {available, false, true, epoch, "does not exist"},
		"unavailable": {not, true, true, epoch, "not available"},
		"silent":      {available, true, false, time.Time{}, "not reported"},
		"old":         {available, true, true, epoch.Add(-time.Second), "since 1970-01-01T00:16:39Z"},
	} {
		got := staleness(tc.cluster, tc.known, tc.renewed, tc.reports, epoch)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestEvents(t *testing.T) {
	s := standing()
	s.slices["a"].Annotations[slice.HeldAnnotation] = `{"":0}`
	r := deciding()
	d := r.decide(s)
	out := outcome{written: map[string]*fleetv1alpha1.FleetSlice{"a": held("a")}}
	members := membersOf(s, d, out, r.StaleAfter)
	status := statusOf(s, d, members, summarize(s, d, out, members))
	list := eventsOf(s, d, out, status)
	if len(list) != 2 || list[0].Reason != ReasonMoved || list[0].Note != "replicas by cluster: a 0 to 1 (Grow)" {
		t.Errorf("%+v", list)
	}
	s.placement.Spec.ClusterNames = []string{"z"}
	d = r.decide(s)
	status = statusOf(s, d, nil, summarize(s, d, outcome{}, nil))
	list = eventsOf(s, d, outcome{}, status)
	if len(list) != 2 || list[0].Type != "Warning" || list[0].Reason != "NoClusters" {
		t.Errorf("%+v", list)
	}
	s.placement.Status = status
	if list := eventsOf(s, d, outcome{}, status); len(list) != 0 {
		t.Errorf("told twice: %+v", list)
	}
}
