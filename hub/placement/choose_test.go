// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func decision(group string, clusters ...string) clusterv1beta1.PlacementDecision {
	d := clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1beta1.DecisionGroupNameLabel: group}}}
	for _, c := range clusters {
		d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
	}
	return d
}

func world() map[string]Cluster {
	out := map[string]Cluster{}
	add := func(name string, change func(*clusterv1.ManagedCluster)) {
		mc := managed(name, map[string]string{"env": "prod"}, nil)
		if change != nil {
			change(mc)
		}
		out[name] = FromManagedCluster(mc)
	}
	add("a", nil)
	add("b", nil)
	add("test", func(mc *clusterv1.ManagedCluster) { mc.Labels["env"] = "test" })
	add("away", func(mc *clusterv1.ManagedCluster) {
		mc.Spec.Taints = []clusterv1.Taint{{Key: clusterv1.ManagedClusterTaintUnreachable, Effect: clusterv1.TaintEffectNoSelect}}
	})
	add("new", func(mc *clusterv1.ManagedCluster) { mc.Spec.HubAcceptsClient = false })
	add("going", func(mc *clusterv1.ManagedCluster) { now := metav1.Now(); mc.DeletionTimestamp = &now })
	return out
}

func TestChoose(t *testing.T) {
	ref := &fleetv1alpha1.FleetPlacementSpec{PlacementRef: &fleetv1alpha1.PlacementReference{Name: "p"}}
	prod := &fleetv1alpha1.FleetPlacementSpec{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}
	names := func(n ...string) *fleetv1alpha1.FleetPlacementSpec {
		return &fleetv1alpha1.FleetPlacementSpec{ClusterNames: n}
	}
	three := &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: 3}}
	broken := &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{Conditions: []metav1.Condition{{Type: clusterv1beta1.PlacementConditionMisconfigured, Status: metav1.ConditionTrue, Message: "bad"}}}}
	type left = map[string]string
	for name, tc := range map[string]struct {
		in         Input
		want       []string
		frozen     []string
		unknown    []string
		left       left
		unresolved bool
	}{
		"by name":              {Input{Spec: names("b", "a")}, []string{"a", "b"}, nil, nil, left{}, false},
		"unknown names":        {Input{Spec: names("a", "zz", "yy")}, []string{"a"}, nil, []string{"yy", "zz"}, left{"zz": "no such ManagedCluster", "yy": "no such ManagedCluster"}, false},
		"not usable":           {Input{Spec: names("new", "going")}, nil, nil, nil, left{"new": "the hub has not accepted the cluster", "going": "the ManagedCluster is being deleted"}, false},
		"by selector":          {Input{Spec: prod}, []string{"a", "away", "b"}, []string{"away"}, nil, left{}, false},
		"label taken away":     {Input{Spec: prod, Holding: []string{"test", "a"}}, []string{"a", "away", "b"}, []string{"away"}, nil, left{"test": "no longer selected"}, false},
		"all decisions":        {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Decisions: []clusterv1beta1.PlacementDecision{decision("", "b", ""), decision("canary", "a")}}, []string{"a", "b"}, nil, nil, left{}, false},
		"dropped out of reach": {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Holding: []string{"a", "away"}, Decisions: []clusterv1beta1.PlacementDecision{decision("", "a")}}, []string{"a", "away"}, []string{"away"}, nil, left{}, false},
		"dropped on purpose":   {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Holding: []string{"a", "b"}, Decisions: []clusterv1beta1.PlacementDecision{decision("", "a")}}, []string{"a"}, nil, nil, left{"b": "no longer selected"}, false},
		"dropped just now": {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Holding: []string{"a", "b"}, Grace: time.Minute, Decisions: []clusterv1beta1.PlacementDecision{decision("", "a")}},
			[]string{"a", "b"}, []string{"b"}, nil, left{}, false},
		"label taken away, with a grace": {Input{Spec: prod, Holding: []string{"test", "a"}, Grace: time.Minute}, []string{"a", "away", "b"}, []string{"away"}, nil, left{"test": "no longer selected"}, false},
		"name taken away, with a grace":  {Input{Spec: names("a"), Holding: []string{"a", "b"}, Grace: time.Minute}, []string{"a"}, nil, nil, left{"b": "no longer selected"}, false},
		"going while held, with a grace": {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Holding: []string{"going"}, Grace: time.Minute}, nil, nil, nil, left{"going": "no longer selected"}, false},
		"decisions to come":              {Input{Spec: ref, Placement: three, Holding: []string{"b"}, Decisions: []clusterv1beta1.PlacementDecision{decision("", "a")}}, nil, nil, nil, left{}, true},
		"cluster vanished":               {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Holding: []string{"gone"}}, nil, nil, nil, left{"gone": "no such ManagedCluster"}, false},
		"going while held":               {Input{Spec: ref, Placement: &clusterv1beta1.Placement{}, Holding: []string{"going"}}, nil, nil, nil, left{"going": "no longer selected"}, false},
		"no Placement":                   {Input{Spec: ref, Holding: []string{"a"}}, nil, nil, nil, left{}, true},
		"misconfigured":                  {Input{Spec: ref, Placement: broken, Holding: []string{"a"}}, nil, nil, nil, left{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Clusters = world()
			got, err := Choose(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			var frozen []string
			for _, s := range got.Clusters {
				if s.Frozen != "" {
					frozen = append(frozen, s.Name)
				}
			}
			for what, d := range map[string]string{
				"clusters": cmp.Diff(tc.want, append([]string(nil), got.Names()...)), "frozen": cmp.Diff(tc.frozen, frozen),
				"unknown": cmp.Diff(tc.unknown, got.Unknown), "left": cmp.Diff(tc.left, got.Left),
			} {
				if d != "" {
					t.Errorf("%s: %s", what, d)
				}
			}
			if name == "not usable" {
				if d := cmp.Diff([]string{"going", "new"}, got.Refused); d != "" {
					t.Error(d)
				}
			} else if got.Refused != nil {
				t.Errorf("refused %v", got.Refused)
			}
			if (got.Unresolved != "") != tc.unresolved {
				t.Errorf("unresolved = %q", got.Unresolved)
			}
		})
	}
}

func TestDroppedKeepForTheGrace(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	in := Input{
		Spec:     &fleetv1alpha1.FleetPlacementSpec{PlacementRef: &fleetv1alpha1.PlacementReference{Name: "p"}},
		Clusters: world(), Placement: &clusterv1beta1.Placement{}, Holding: []string{"a", "b", "away"}, Grace: time.Minute,
		Dropped: map[string]time.Time{"a": start, "b": start.Add(20 * time.Second)},
	}
	for name, tc := range map[string]struct {
		after time.Duration
		want  []string
		again time.Duration
	}{
		"at once":          {20 * time.Second, []string{"a", "away", "b"}, 40 * time.Second},
		"just before":      {time.Minute - 1, []string{"a", "away", "b"}, 1},
		"the first is out": {time.Minute, []string{"away", "b"}, 20 * time.Second},
		"both are out":     {80 * time.Second, []string{"away"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in.Now = start.Add(tc.after)
			got, err := Choose(in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got.Names()); d != "" || got.Again != tc.again {
				t.Errorf("%s; again %v, want %v", d, got.Again, tc.again)
			}
			for _, s := range got.Clusters {
				if s.Frozen == "" {
					t.Errorf("%s may get more", s.Name)
				}
				if s.Name == "b" && s.Frozen != "the decisions no longer name the cluster: it keeps what it has until 2026-01-02T03:05:20Z and gets no more" {
					t.Error(s.Frozen)
				}
			}
		})
	}
}

func TestDropped(t *testing.T) {
	ref := &fleetv1alpha1.FleetPlacementSpec{PlacementRef: &fleetv1alpha1.PlacementReference{Name: "p"}}
	holding := []string{"a", "b", "away", "new", "going", "gone"}
	decisions := []clusterv1beta1.PlacementDecision{decision("", "a")}
	three := &clusterv1beta1.Placement{Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: 3}}
	for name, tc := range map[string]struct {
		spec *fleetv1alpha1.FleetPlacementSpec
		p    *clusterv1beta1.Placement
		want []string
	}{
		"well and not decided": {ref, &clusterv1beta1.Placement{}, []string{"b"}},
		"decisions to come":    {ref, three, nil},
		"no Placement":         {ref, nil, nil},
		"by name":              {&fleetv1alpha1.FleetPlacementSpec{ClusterNames: []string{"a"}}, nil, nil},
	} {
		if d := cmp.Diff(tc.want, Dropped(Input{Spec: tc.spec, Clusters: world(), Holding: holding, Placement: tc.p, Decisions: decisions})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestChooseKeepsGroups(t *testing.T) {
	ref := &fleetv1alpha1.FleetPlacementSpec{PlacementRef: &fleetv1alpha1.PlacementReference{Name: "p"}}
	got, err := Choose(Input{Spec: ref, Clusters: world(), Placement: &clusterv1beta1.Placement{}, Decisions: []clusterv1beta1.PlacementDecision{decision("canary", "a"), decision("", "b")}})
	if err != nil || got.Clusters[0].Group != "canary" || got.Clusters[1].Group != "" {
		t.Errorf("%+v, %v", got.Clusters, err)
	}
}

func TestChooseRefusesSelector(t *testing.T) {
	spec := &fleetv1alpha1.FleetPlacementSpec{ClusterSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}
	if _, err := Choose(Input{Spec: spec, Clusters: world()}); err == nil {
		t.Error("no error")
	}
}
