// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

var noon = metav1.NewTime(time.Unix(1000, 0).UTC())

func said(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: fleetv1alpha1.ConditionFleetPlaced, Status: status, Reason: reason, Message: message}}
}

// statusOf makes the status, prints each subset in short, and leaves it in the object.
func statusOf(t *testing.T, d Divider, s share.Summary) (int64, []string) {
	t.Helper()
	s.Now = noon
	object, fields, err := d.Companion(s)
	if err != nil || object != d.Spread {
		t.Fatal(object, err)
	}
	status := appsv1beta1.WorkloadSpreadStatus{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status); err != nil {
		t.Fatal(err)
	}
	d.Spread.Object["status"] = fields
	var out []string
	for _, row := range status.SubsetStatuses {
		c := conditions.Find(row.Conditions, fleetv1alpha1.ConditionFleetPlaced)
		if c.ObservedGeneration != 3 || !c.LastTransitionTime.Equal(&noon) {
			t.Errorf("%+v", c)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d %d %s/%s %s", row.Name, row.Replicas, row.MissingReplicas, c.Status, c.Reason, c.Message)))
	}
	return status.ObservedGeneration, out
}

func whole(n int32) map[string]fleetv1alpha1.SubsetCounters {
	return map[string]fleetv1alpha1.SubsetCounters{"": {Replicas: n}}
}

func TestCompanion(t *testing.T) {
	d := Divider{inner{}, spreading(t, "{subsets: [{name: a, maxReplicas: 6, "+in("z1")+"}, {name: c, maxReplicas: 2, "+in("z9")+"}, {name: b}]}")}
	req := request(cloneSet(t, 9), cluster("east", "z1,z2"), cluster("north", "z1"), cluster("west", "z2"))
	plan, err := d.Divide(req)
	if err != nil {
		t.Fatal(err)
	}
	var split []string
	for _, s := range plan.Slices {
		split = append(split, fmt.Sprint(s.Cluster, s.Held))
	}
	if d := cmp.Diff([]string{"eastmap[a:3 b:1]", "northmap[a:3 b:1]", "westmap[b:1]"}, split); d != "" {
		t.Fatal(d)
	}
	summary := share.Summary{Plan: &plan, Conditions: said(metav1.ConditionTrue, "Placed", ""), Reports: []share.Report{
		{Cluster: "east", Counters: whole(4), Spread: []fleetv1alpha1.SpreadCounters{{Subset: "a", Replicas: 2, MissingReplicas: 1}, {Subset: "b", Replicas: 2, MissingReplicas: -1}}},
		{Cluster: "north", Counters: whole(5)},
		{Cluster: "west", Counters: whole(1)},
		{Cluster: "leaving", Counters: whole(1), Spread: []fleetv1alpha1.SpreadCounters{{Subset: "a", Replicas: 1, MissingReplicas: 4}}},
	}}
	const nine = "topology.kubernetes.io/zone is "
	why := "no selected cluster matches: east: " + nine + "z1,z2, wanted In (z9); north: " + nine + "z1, wanted In (z9); west: " + nine + "z2, wanted In (z9)"
	check := func(what string, generation int64, want ...string) {
		t.Helper()
		observed, got := statusOf(t, d, summary)
		if d := cmp.Diff(want, got); d != "" || observed != generation {
			t.Errorf("%s: observed %d: %s", what, observed, d)
		}
	}
	check("sums; north has no WorkloadSpread of its own, its replicas count in order", 0,
		"a 6 1 True/Placed", "c 0 2 False/Spilled 2 replicas went on to later subsets: "+why, "b 5 -1 True/Placed")
	summary.Observed = true
	summary.Reports[0].Spread = nil
	check("a member that has yet to report", 3,
		"a 4 3 True/Placed", "c 0 2 False/Spilled 2 replicas went on to later subsets: "+why, "b 3 -1 True/Placed")
	summary.Conditions = said(metav1.ConditionFalse, "InsufficientCapacity", "long")
	check("some have no place", 3,
		"a 4 3 True/Placed", "c 0 2 False/InsufficientCapacity 2 replicas are not in this subset: "+why, "b 3 -1 True/Placed")
	summary.Conditions = said(metav1.ConditionFalse, "ApplyFailed", "too large")
	check("not written", 3, "a 4 3 False/ApplyFailed too large", "c 0 2 False/ApplyFailed too large", "b 3 -1 False/ApplyFailed too large")
	summary.Plan = nil
	check("no plan: the last known numbers", 3, "a 4 3 False/ApplyFailed too large", "c 0 2 False/ApplyFailed too large", "b 3 -1 False/ApplyFailed too large")
	summary.Reports, summary.Conditions = nil, said(metav1.ConditionFalse, "NoPlacement", "nowhere")
	check("nowhere", 3, "a 0 6 False/NoPlacement nowhere", "c 0 2 False/NoPlacement nowhere", "b 0 -1 False/NoPlacement nowhere")
}

// TestCompanionAtRest: once the members are where the plan wants them, the numbers are those of a
// WorkloadSpread in one cluster, and another pass changes nothing.
func TestCompanionAtRest(t *testing.T) {
	d := Divider{inner{}, spreading(t, "{scheduleStrategy: {type: Adaptive, adaptive: {}}, subsets: [{name: a, maxReplicas: 60%, "+in("z1")+"}, {name: b, maxReplicas: 7%, "+in("z2")+"}, {name: c}]}")}
	plan, err := d.Divide(request(cloneSet(t, 10), cluster("east", "z1,z2"), cluster("south", "z1,z9"), cluster("west", "z2,z3")))
	if err != nil {
		t.Fatal(err)
	}
	summary := share.Summary{Plan: &plan, Conditions: said(metav1.ConditionTrue, "Placed", "")}
	for _, s := range plan.Slices {
		report := share.Report{Cluster: s.Cluster, Counters: whole(s.Replicas())}
		for _, row := range plan.Spread.Subsets {
			if n, matches := row.Shares[s.Cluster]; matches {
				report.Spread = append(report.Spread, fleetv1alpha1.SpreadCounters{Subset: row.Name, Replicas: n, MissingReplicas: row.Bounds[s.Cluster] - n})
			}
		}
		summary.Reports = append(summary.Reports, report)
	}
	_, got := statusOf(t, d, summary)
	if d := cmp.Diff([]string{"a 6 0 True/Placed", "b 1 0 True/Placed", "c 3 -1 True/Placed"}, got); d != "" {
		t.Error(d)
	}
	before := d.Spread.DeepCopy()
	statusOf(t, d, summary)
	if d := cmp.Diff(before, d.Spread); d != "" {
		t.Error(d)
	}
}

func TestNowhere(t *testing.T) {
	d := Divider{nil, spreading(t, "{subsets: [{name: a, maxReplicas: 60%}, {name: b}]}")}
	observed, got := statusOf(t, d, share.Summary{Observed: true, Conditions: said(metav1.ConditionFalse, "NoPlacement", "nowhere")})
	if d := cmp.Diff([]string{"a 0 0 False/NoPlacement nowhere", "b 0 -1 False/NoPlacement nowhere"}, got); d != "" || observed != 3 {
		t.Error(observed, d)
	}
}

func TestCompanionUnreadable(t *testing.T) {
	d := Divider{inner{}, spreading(t, "{subsets: 7}")}
	if _, got := statusOf(t, d, share.Summary{Conditions: said(metav1.ConditionFalse, "InvalidTarget", "")}); got != nil {
		t.Error(got)
	}
	d.Spread.Object["status"] = "?"
	if _, _, err := d.Companion(share.Summary{}); err == nil {
		t.Error("a status that is none is read")
	}
}
