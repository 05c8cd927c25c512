// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// Reasons of the condition PlacementSatisfied; the words are OCM's.
const (
	ReasonNoBindings        = "NoManagedClusterSetBindings"
	ReasonNoIntersection    = "NoIntersection"
	ReasonAllSetsEmpty      = "AllManagedClusterSetsEmpty"
	ReasonNoClusterMatched  = "NoManagedClusterMatched"
	ReasonNotAllScheduled   = "NotAllDecisionsScheduled"
	ReasonAllScheduled      = "AllDecisionsScheduled"
	ReasonMisconfigured     = "Misconfigured"
	ReasonConfigurationGood = "Succeedconfigured"
)

// Decide resolves a Placement. It never fails: what is wrong with a Placement is in the plan's verdicts.
func Decide(s Snapshot) Plan {
	rules, err := compile(s.Placement)
	if err != nil {
		plan := Plan{Groups: []Group{{}}}
		plan.Misconfigured = Verdict{True: true, Reason: ReasonMisconfigured, Message: err.Error()}
		plan.Satisfied = Verdict{Reason: ReasonNoClusterMatched, Message: "nothing is selected while the placement is misconfigured"}
		if rules.unwritable {
			plan.Groups = nil
		}
		return plan
	}
	plan := Plan{Misconfigured: Verdict{Reason: ReasonConfigurationGood, Message: "the configuration is understood"}}
	candidates, unmet := candidatesOf(s)
	if unmet != nil {
		plan.Groups, plan.Satisfied = []Group{{}}, *unmet
		return plan
	}
	feasible := filter(s, rules, candidates, &plan)
	selected := cut(feasible, s.Placement.Spec.NumberOfClusters, s.Selected)
	plan.Groups = rules.grouping.divide(selected)
	plan.Satisfied = satisfied(s, len(candidates), len(feasible), len(selected))
	return plan
}

// filter keeps the clusters that a predicate selects and whose taints are tolerated.
func filter(s Snapshot, rules rules, candidates []*clusterv1.ManagedCluster, plan *Plan) []*clusterv1.ManagedCluster {
	var feasible []*clusterv1.ManagedCluster
	for _, c := range candidates {
		if !rules.selects(c) {
			continue
		}
		kept, until := tolerates(c.Spec.Taints, s.Placement.Spec.Tolerations, s.Selected.Has(c.Name), s.Now)
		if !kept {
			continue
		}
		plan.NextChange = earliest(plan.NextChange, until)
		feasible = append(feasible, c)
	}
	return feasible
}

// cut keeps at most limit clusters: those already selected first, then by name. The result is in order of names.
func cut(clusters []*clusterv1.ManagedCluster, limit *int32, selected sets.Set[string]) []*clusterv1.ManagedCluster {
	if limit == nil || len(clusters) <= int(*limit) {
		return clusters
	}
	ranked := slices.Clone(clusters)
	slices.SortStableFunc(ranked, func(a, b *clusterv1.ManagedCluster) int {
		return rank(selected, a) - rank(selected, b)
	})
	ranked = ranked[:max(0, int(*limit))]
	sortByName(ranked)
	return ranked
}

func rank(selected sets.Set[string], c *clusterv1.ManagedCluster) int {
	if selected.Has(c.Name) {
		return 0
	}
	return 1
}

func sortByName(clusters []*clusterv1.ManagedCluster) {
	slices.SortFunc(clusters, func(a, b *clusterv1.ManagedCluster) int { return strings.Compare(a.Name, b.Name) })
}

func satisfied(s Snapshot, candidates, feasible, selected int) Verdict {
	if feasible == 0 {
		return Verdict{Reason: ReasonNoClusterMatched, Message: fmt.Sprintf(
			"of %d clusters in the bound sets none matches the predicates and has only tolerated taints", candidates)}
	}
	if want := s.Placement.Spec.NumberOfClusters; want != nil && int(*want) > selected {
		return Verdict{Reason: ReasonNotAllScheduled, Message: fmt.Sprintf("%d clusters wanted, %d fit", *want, selected)}
	}
	return Verdict{True: true, Reason: ReasonAllScheduled, Message: "every decision has a cluster"}
}
