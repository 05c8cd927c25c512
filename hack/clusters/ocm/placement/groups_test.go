// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	sdkv1beta1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

// many gives n clusters, the first canaries of which carry the label name=canary.
func many(n, canaries int) []*clusterv1.ManagedCluster {
	var out []*clusterv1.ManagedCluster
	for i := range n {
		c := cluster(fmt.Sprintf("c%03d", i), "default", "west")
		if i < canaries {
			c.Labels["name"] = "canary"
		}
		out = append(out, c)
	}
	return out
}

func canaryGroup() []clusterv1beta1.DecisionGroup {
	group := clusterv1beta1.DecisionGroup{GroupName: "canary"}
	group.ClusterSelector.LabelSelector = byLabel("name", "canary").RequiredClusterSelector.LabelSelector
	return []clusterv1beta1.DecisionGroup{group}
}

func TestDivide(t *testing.T) {
	canary := canaryGroup()
	tests := map[string]struct {
		clusters, canaries int
		strategy           clusterv1beta1.GroupStrategy
		want               []string // name=count
	}{
		"nothing":                  {want: []string{"=0"}},
		"all in one":               {clusters: 250, want: []string{"=250"}},
		"100% is all in one":       {clusters: 250, strategy: clusterv1beta1.GroupStrategy{ClustersPerDecisionGroup: intstr.FromString("100%")}, want: []string{"=250"}},
		"by count":                 {clusters: 7, strategy: clusterv1beta1.GroupStrategy{ClustersPerDecisionGroup: intstr.FromInt32(3)}, want: []string{"=3", "=3", "=1"}},
		"by count as text":         {clusters: 4, strategy: clusterv1beta1.GroupStrategy{ClustersPerDecisionGroup: intstr.FromString("3")}, want: []string{"=3", "=1"}},
		"a share is rounded up":    {clusters: 7, strategy: clusterv1beta1.GroupStrategy{ClustersPerDecisionGroup: intstr.FromString("50%")}, want: []string{"=4", "=3"}},
		"canary and a share":       {clusters: 500, canaries: 100, strategy: clusterv1beta1.GroupStrategy{DecisionGroups: canary, ClustersPerDecisionGroup: intstr.FromString("40%")}, want: []string{"canary=100", "=200", "=200"}},
		"a named group is cut too": {clusters: 6, canaries: 5, strategy: clusterv1beta1.GroupStrategy{DecisionGroups: canary, ClustersPerDecisionGroup: intstr.FromInt32(3)}, want: []string{"canary=3", "canary=2", "=1"}},
		"a named group of nobody":  {clusters: 2, strategy: clusterv1beta1.GroupStrategy{DecisionGroups: canary}, want: []string{"=2"}},
		"the first group takes":    {clusters: 2, canaries: 2, strategy: clusterv1beta1.GroupStrategy{DecisionGroups: append(canaryGroup(), canary...)}, want: []string{"canary=2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, err := compileGrouping(tt.strategy)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, group := range g.divide(many(tt.clusters, tt.canaries)) {
				got = append(got, fmt.Sprintf("%s=%d", group.Name, len(group.Clusters)))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGroupLimitRefuses(t *testing.T) {
	for _, v := range []intstr.IntOrString{
		intstr.FromInt32(-1), intstr.FromString("0%"), intstr.FromString("101%"), intstr.FromString("x"), intstr.FromString("-3"),
	} {
		if _, _, err := groupLimit(v); err == nil {
			t.Errorf("%s was accepted", v.String())
		}
	}
}

// lister serves decisions to the tracker that readers of decisions use.
type lister []*clusterv1beta1.PlacementDecision

func (l lister) List(labels.Selector, string) ([]*clusterv1beta1.PlacementDecision, error) {
	return l, nil
}

// 500 clusters, 100 of them canaries, and groups of 40 %: five decisions, and a reader finds the same groups again.
func TestDecisionsAsReadersSeeThem(t *testing.T) {
	g, err := compileGrouping(clusterv1beta1.GroupStrategy{
		DecisionGroups: canaryGroup(), ClustersPerDecisionGroup: intstr.FromString("40%"),
	})
	if err != nil {
		t.Fatal(err)
	}
	groups := g.divide(many(500, 100))
	var written lister
	var names []string
	for _, d := range decisionsOf("web", groups) {
		names = append(names, d.name)
		written = append(written, &clusterv1beta1.PlacementDecision{Status: clusterv1beta1.PlacementDecisionStatus{Decisions: d.decisions}})
		written[len(written)-1].Labels = d.labels
		if len(d.decisions) > 100 {
			t.Errorf("%s has %d clusters", d.name, len(d.decisions))
		}
	}
	if diff := cmp.Diff([]string{"web-decision-1", "web-decision-2", "web-decision-3", "web-decision-4", "web-decision-5"}, names); diff != "" {
		t.Error(diff)
	}
	tracker := sdkv1beta1.NewPlacementDecisionClustersTracker(&clusterv1beta1.Placement{}, written, nil)
	if err := tracker.Refresh(); err != nil {
		t.Fatal(err)
	}
	found := tracker.ExistingClusterGroupsBesides()
	for index, group := range groups {
		key := sdkv1beta1.GroupKey{GroupName: group.Name, GroupIndex: int32(index)}
		if !found[key].HasAll(group.Clusters...) || found[key].Len() != len(group.Clusters) {
			t.Errorf("group %v: reader finds %d clusters, %d were decided", key, found[key].Len(), len(group.Clusters))
		}
	}
}

func TestStatusOf(t *testing.T) {
	p := &clusterv1beta1.Placement{}
	p.Generation = 3
	plan := Plan{
		Groups:        []Group{{Name: "canary", Clusters: []string{"a"}}, {Clusters: strings.Fields(strings.Repeat("x ", 101))}},
		Satisfied:     Verdict{True: true, Reason: ReasonAllScheduled},
		Misconfigured: Verdict{Reason: ReasonConfigurationGood},
	}
	decisions := decisionsOf("p", plan.Groups)
	status := statusOf(p, plan, decisions, now)
	want := []clusterv1beta1.DecisionGroupStatus{
		{DecisionGroupName: "canary", Decisions: []string{"p-decision-1"}, ClustersCount: 1},
		{DecisionGroupIndex: 1, Decisions: []string{"p-decision-2", "p-decision-3"}, ClustersCount: 101},
	}
	if diff := cmp.Diff(want, status.DecisionGroups); diff != "" || status.NumberOfSelectedClusters != 102 {
		t.Errorf("%d clusters; %s", status.NumberOfSelectedClusters, diff)
	}
	satisfied := meta.FindStatusCondition(status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if satisfied == nil || satisfied.Status != "True" || satisfied.ObservedGeneration != 3 {
		t.Errorf("satisfied: %v", satisfied)
	}
	if meta.IsStatusConditionTrue(status.Conditions, clusterv1beta1.PlacementConditionMisconfigured) {
		t.Error("misconfigured")
	}
	p.Status = status
	if diff := cmp.Diff(status, statusOf(p, plan, decisions, now.Add(time.Hour))); diff != "" {
		t.Errorf("the same plan changes the status later:\n%s", diff)
	}
	if len(decisionsOf("p", []Group{{}})) != 1 {
		t.Error("an empty plan has no decision")
	}
}
