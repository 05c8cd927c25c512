// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// fleet is three clusters: a and b in the set default, c in the set other; regions west, east, west.
func fleet() []*clusterv1.ManagedCluster {
	return []*clusterv1.ManagedCluster{
		cluster("c", "other", "west"), cluster("a", "default", "west"), cluster("b", "default", "east"),
	}
}

func cluster(name, set, region string) *clusterv1.ManagedCluster {
	c := &clusterv1.ManagedCluster{}
	c.Name = name
	c.Labels = map[string]string{clusterv1beta2.ClusterSetLabel: set, "name": name}
	c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "region", Value: region}}
	return c
}

func clusterSets() []*clusterv1beta2.ManagedClusterSet {
	global := &clusterv1beta2.ManagedClusterSet{}
	global.Name = "global"
	global.Spec.ClusterSelector.SelectorType = clusterv1beta2.LabelSelector
	global.Spec.ClusterSelector.LabelSelector = &metav1.LabelSelector{}
	out := []*clusterv1beta2.ManagedClusterSet{global}
	for _, name := range []string{"default", "other", "empty"} {
		set := &clusterv1beta2.ManagedClusterSet{}
		set.Name = name
		out = append(out, set)
	}
	return out
}

func bindings(names ...string) []*clusterv1beta2.ManagedClusterSetBinding {
	var out []*clusterv1beta2.ManagedClusterSetBinding
	for _, name := range names {
		b := &clusterv1beta2.ManagedClusterSetBinding{}
		b.Name, b.Spec.ClusterSet = name, name
		out = append(out, b)
	}
	return out
}

func byLabel(key string, values ...string) clusterv1beta1.ClusterPredicate {
	var p clusterv1beta1.ClusterPredicate
	p.RequiredClusterSelector.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values},
	}
	return p
}

func byClaim(key string, values ...string) clusterv1beta1.ClusterPredicate {
	var p clusterv1beta1.ClusterPredicate
	p.RequiredClusterSelector.ClaimSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values},
	}
	return p
}

func taint(key string, effect clusterv1.TaintEffect) clusterv1.Taint {
	return clusterv1.Taint{Key: key, Effect: effect, TimeAdded: metav1.NewTime(now.Add(-10 * time.Second))}
}

func prioritizer(kind, name string) []clusterv1beta1.PrioritizerConfig {
	c := &clusterv1beta1.ScoreCoordinate{Type: kind, BuiltIn: name}
	return []clusterv1beta1.PrioritizerConfig{{ScoreCoordinate: c}}
}

type decideCase struct {
	spec     clusterv1beta1.PlacementSpec
	bound    []string // the set global when nil
	taints   map[string][]clusterv1.Taint
	selected []string

	want          string // groups as "name:a,b" or ":a,b", joined with "; "
	reason        string // of Satisfied; AllDecisionsScheduled when empty
	misconfigured string // part of the message
	nextChange    time.Time
}

func (c decideCase) snapshot() Snapshot {
	if c.bound == nil {
		c.bound = []string{"global"}
	}
	s := Snapshot{
		Now: now, Placement: &clusterv1beta1.Placement{Spec: c.spec}, Clusters: fleet(), Sets: clusterSets(),
		Bindings: bindings(c.bound...), Selected: sets.New(c.selected...),
	}
	s.Placement.Namespace, s.Placement.Name = "apps", "p"
	for _, cl := range s.Clusters {
		cl.Spec.Taints = c.taints[cl.Name]
	}
	return s
}

func show(groups []Group) string {
	var parts []string
	for _, g := range groups {
		parts = append(parts, g.Name+":"+strings.Join(g.Clusters, ","))
	}
	return strings.Join(parts, "; ")
}

func TestDecide(t *testing.T) {
	type spec = clusterv1beta1.PlacementSpec
	tests := map[string]decideCase{
		"everything of a set bound":         {want: ":a,b,c"},
		"only the clusters of a bound set":  {bound: []string{"default"}, want: ":a,b"},
		"two sets overlap":                  {bound: []string{"default", "global"}, want: ":a,b,c"},
		"no binding":                        {bound: []string{}, want: ":", reason: ReasonNoBindings},
		"a binding to no set":               {bound: []string{"gone"}, want: ":", reason: ReasonNoBindings},
		"an empty set":                      {bound: []string{"empty"}, want: ":", reason: ReasonAllSetsEmpty},
		"narrowed to one set":               {bound: []string{"default", "other"}, spec: spec{ClusterSets: []string{"other"}}, want: ":c"},
		"narrowed to a set that is unbound": {bound: []string{"default"}, spec: spec{ClusterSets: []string{"other"}}, want: ":", reason: ReasonNoIntersection},

		"by label": {spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{byLabel("name", "a", "c")}}, want: ":a,c"},
		"by claim": {spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{byClaim("region", "east")}}, want: ":b"},
		"predicates are ORed": {spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{
			byLabel("name", "a"), byClaim("region", "east")}}, want: ":a,b"},
		"label and claim of one predicate are ANDed": {spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{{
			RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				LabelSelector: byLabel("name", "a", "b").RequiredClusterSelector.LabelSelector,
				ClaimSelector: byClaim("region", "west").RequiredClusterSelector.ClaimSelector,
			}}}}, want: ":a"},
		"nothing matches": {spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{byLabel("name", "x")}},
			want: ":", reason: ReasonNoClusterMatched},

		"fewer than there are":         {spec: spec{NumberOfClusters: ptr.To[int32](2)}, want: ":a,b"},
		"selected clusters stay":       {spec: spec{NumberOfClusters: ptr.To[int32](2)}, selected: []string{"c"}, want: ":a,c"},
		"more than there are":          {spec: spec{NumberOfClusters: ptr.To[int32](4)}, want: ":a,b,c", reason: ReasonNotAllScheduled},
		"Steady and Balance are known": {spec: spec{PrioritizerPolicy: clusterv1beta1.PrioritizerPolicy{Configurations: prioritizer("BuiltIn", "Steady")}}, want: ":a,b,c"},

		"a taint drops": {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelect")}}, want: ":b,c"},
		"taints of all": {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelect")}, "b": {taint("k", "NoSelect")},
			"c": {taint("k", "NoSelect")}}, want: ":", reason: ReasonNoClusterMatched},
		"a toleration keeps": {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelect")}}, want: ":a,b,c",
			spec: spec{Tolerations: []clusterv1beta1.Toleration{{Operator: "Exists"}}}},
		"a toleration that ends": {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelect")}}, want: ":a,b,c",
			spec:       spec{Tolerations: []clusterv1beta1.Toleration{{Key: "k", Operator: "Exists", TolerationSeconds: ptr.To[int64](15)}}},
			nextChange: now.Add(5 * time.Second)},
		"a toleration of a cluster no predicate selects": {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelect")}}, want: ":b",
			spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{byLabel("name", "b")},
				Tolerations: []clusterv1beta1.Toleration{{Key: "k", Operator: "Exists", TolerationSeconds: ptr.To[int64](15)}}}},
		"NoSelectIfNew drops the new":      {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelectIfNew")}}, want: ":b,c"},
		"NoSelectIfNew keeps the selected": {taints: map[string][]clusterv1.Taint{"a": {taint("k", "NoSelectIfNew")}}, selected: []string{"a"}, want: ":a,b,c"},

		"CEL": {want: ":", reason: ReasonNoClusterMatched, misconfigured: "predicates[0].requiredClusterSelector.celSelector",
			spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: clusterv1beta1.ClusterSelector{
				CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"true"}}}}}}},
		"the prioritizer Spread": {want: ":", reason: ReasonNoClusterMatched, misconfigured: "Spread",
			spec: spec{PrioritizerPolicy: clusterv1beta1.PrioritizerPolicy{Configurations: prioritizer("BuiltIn", "Spread")}}},
		"add-on scores": {want: ":", reason: ReasonNoClusterMatched, misconfigured: "add-on scores",
			spec: spec{PrioritizerPolicy: clusterv1beta1.PrioritizerPolicy{Configurations: prioritizer("AddOn", "")}}},
		"a selector that is none": {want: ":", reason: ReasonNoClusterMatched, misconfigured: "claimSelector",
			spec: spec{Predicates: []clusterv1beta1.ClusterPredicate{byClaim("zones", "a,b")}}},
		"a group of no size": {want: ":", reason: ReasonNoClusterMatched, misconfigured: "clustersPerDecisionGroup",
			spec: spec{DecisionStrategy: clusterv1beta1.DecisionStrategy{GroupStrategy: clusterv1beta1.GroupStrategy{
				ClustersPerDecisionGroup: intstr.FromString("0%")}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Decide(tt.snapshot())
			if diff := cmp.Diff(tt.want, show(plan.Groups)); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if tt.reason == "" {
				tt.reason = ReasonAllScheduled
			}
			if plan.Satisfied.Reason != tt.reason || plan.Satisfied.True != (tt.reason == ReasonAllScheduled) {
				t.Errorf("satisfied: %+v, want reason %s", plan.Satisfied, tt.reason)
			}
			if plan.Misconfigured.True != (tt.misconfigured != "") || !strings.Contains(plan.Misconfigured.Message, tt.misconfigured) {
				t.Errorf("misconfigured: %+v, want %q", plan.Misconfigured, tt.misconfigured)
			}
			if !plan.NextChange.Equal(tt.nextChange) {
				t.Errorf("next change %v, want %v", plan.NextChange, tt.nextChange)
			}
		})
	}
}

func TestDecideLeavesOutWhatIsBeingDeleted(t *testing.T) {
	s := decideCase{}.snapshot()
	s.Clusters[1].DeletionTimestamp = &metav1.Time{Time: now}
	if got := show(Decide(s).Groups); got != ":b,c" {
		t.Errorf("got %s", got)
	}
}

func TestDecideWithoutRoomForTheName(t *testing.T) {
	s := decideCase{}.snapshot()
	s.Placement.Name = strings.Repeat("x", 64)
	plan := Decide(s)
	if len(plan.Groups) != 0 || !plan.Misconfigured.True {
		t.Errorf("got %+v", plan)
	}
}

// Whatever the order of its input, a plan is the same, and settles: decided again with its own result selected, it stays.
func TestDecideIsStable(t *testing.T) {
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		s := decideCase{}.snapshot()
		s.Clusters = nil
		for i := range rng.Intn(250) {
			c := cluster(fmt.Sprintf("c%03d", i), []string{"default", "other"}[rng.Intn(2)], "west")
			if rng.Intn(4) == 0 {
				c.Spec.Taints = []clusterv1.Taint{taint("k", []clusterv1.TaintEffect{"NoSelect", "NoSelectIfNew", "PreferNoSelect"}[rng.Intn(3)])}
			}
			s.Clusters = append(s.Clusters, c)
		}
		s.Placement.Spec.NumberOfClusters = ptr.To(int32(rng.Intn(250)))
		first := Decide(s)
		if first.NumberOfClusters() > int(*s.Placement.Spec.NumberOfClusters) {
			t.Fatalf("seed %d: %d clusters, at most %d allowed", seed, first.NumberOfClusters(), *s.Placement.Spec.NumberOfClusters)
		}
		shuffled := s
		shuffled.Clusters = slices.Clone(s.Clusters)
		rng.Shuffle(len(s.Clusters), func(i, j int) {
			shuffled.Clusters[i], shuffled.Clusters[j] = shuffled.Clusters[j], shuffled.Clusters[i]
		})
		for _, g := range first.Groups {
			shuffled.Selected = s.Selected.Union(sets.New(g.Clusters...))
		}
		if diff := cmp.Diff(first.Groups, Decide(shuffled).Groups); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}
