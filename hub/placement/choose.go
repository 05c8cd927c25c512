// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// Input is all that is read to choose clusters.
type Input struct {
	// Spec of the FleetPlacement.
	Spec *fleetv1alpha1.FleetPlacementSpec
	// Clusters are all ManagedClusters by name.
	Clusters map[string]Cluster
	// Holding are the clusters that hold a share now.
	Holding []string
	// Dropped is since when the clusters that Dropped named have been so, as far as is known; one that
	// is not in it was dropped just now.
	Dropped map[string]time.Time
	// Grace is how long a dropped cluster keeps its share, and Now the time of asking.
	Grace time.Duration
	Now   time.Time
	// Placement that spec.placementRef names; nil when there is none.
	Placement *clusterv1beta1.Placement
	// Decisions of that Placement: those labelled with its name.
	Decisions []clusterv1beta1.PlacementDecision
}

// Selected is one chosen cluster.
type Selected struct {
	Cluster
	// Group is the name of OCM's decision group, "" when there is none.
	Group string
	// Frozen says why the cluster may get no more than it has; "" when it may.
	Frozen string
}

// Choice is which clusters an object goes to.
type Choice struct {
	// Clusters by name.
	Clusters []Selected
	// Unknown are names in spec.clusterNames that are no ManagedCluster, sorted.
	Unknown []string
	// Left says, for each cluster that is not chosen although it holds a share or was named, why.
	Left map[string]string
	// Refused are those of Left that exist and are named, but cannot be served, sorted.
	Refused []string
	// Unresolved says why the clusters cannot be known now; then nothing may be given, moved or taken.
	Unresolved string
	// Again is after how long to ask again, because a dropped cluster's grace ends then; 0 when none is
	// waited for.
	Again time.Duration
}

// Names of the chosen clusters, in order.
func (c Choice) Names() []string {
	out := make([]string, 0, len(c.Clusters))
	for _, s := range c.Clusters {
		out = append(out, s.Name)
	}
	return out
}

// Choose answers which clusters the spec names. It returns an error when the selector cannot be read.
func Choose(in Input) (Choice, error) {
	choice := Choice{Left: map[string]string{}}
	groups, err := named(in, &choice)
	if err != nil || choice.Unresolved != "" {
		return choice, err
	}
	kept := keep(in, groups, &choice)
	for name, group := range groups {
		cluster, known := in.Clusters[name]
		switch {
		case !known:
			choice.Unknown = append(choice.Unknown, name)
			choice.Left[name] = "no such ManagedCluster"
		case cluster.Deleting:
			choice.Left[name] = "the ManagedCluster is being deleted"
			choice.Refused = append(choice.Refused, name)
		case !cluster.Accepted:
			choice.Left[name] = "the hub has not accepted the cluster"
			choice.Refused = append(choice.Refused, name)
		default:
			choice.Clusters = append(choice.Clusters, Selected{Cluster: cluster, Group: group, Frozen: cmp.Or(kept[name], frozen(cluster))})
		}
	}
	slices.SortFunc(choice.Clusters, func(a, b Selected) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(choice.Unknown)
	slices.Sort(choice.Refused)
	return choice, nil
}

// named returns the clusters which the spec names, with their groups, whether there are such or not.
func named(in Input, choice *Choice) (map[string]string, error) {
	groups := map[string]string{}
	switch {
	case in.Spec.PlacementRef != nil:
		decided(in.Decisions, groups)
		choice.Unresolved = unresolved(in.Spec.PlacementRef.Name, in.Placement, len(groups))
	case in.Spec.ClusterSelector != nil:
		selector, err := metav1.LabelSelectorAsSelector(in.Spec.ClusterSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.clusterSelector: %w", err)
		}
		for name, cluster := range in.Clusters {
			if cluster.Usable() && selector.Matches(labels.Set(cluster.Labels)) {
				groups[name] = ""
			}
		}
	default:
		for _, name := range in.Spec.ClusterNames {
			groups[name] = ""
		}
	}
	return groups, nil
}

// decided adds the clusters of all decisions, with the names of their groups.
func decided(decisions []clusterv1beta1.PlacementDecision, groups map[string]string) {
	for _, d := range decisions {
		for _, decision := range d.Status.Decisions {
			if decision.ClusterName != "" {
				groups[decision.ClusterName] = d.Labels[clusterv1beta1.DecisionGroupNameLabel]
			}
		}
	}
}

// unresolved says why decisions cannot be relied upon; "" when they can.
func unresolved(name string, p *clusterv1beta1.Placement, read int) string {
	if p == nil {
		return fmt.Sprintf("there is no Placement %q in this namespace", name)
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured); c != nil && c.Status == metav1.ConditionTrue {
		return fmt.Sprintf("Placement %q is misconfigured: %s", name, c.Message)
	}
	if selected := int(p.Status.NumberOfSelectedClusters); read < selected {
		return fmt.Sprintf("Placement %q selects %d clusters, and its decisions name only %d so far", name, selected, read)
	}
	return ""
}

// keep adds to groups the clusters that hold a share and are not among the decisions because they are
// out of reach, or were dropped a short while ago. It returns why the latter may get no more.
func keep(in Input, groups map[string]string, choice *Choice) map[string]string {
	kept := map[string]string{}
	for _, name := range in.Holding {
		if _, named := groups[name]; named {
			continue
		}
		cluster, known := in.Clusters[name]
		keeps, left := in.keeps(cluster)
		switch {
		case !known:
			choice.Left[name] = "no such ManagedCluster"
			continue
		case !keeps:
			choice.Left[name] = "no longer selected"
			continue
		case left > 0:
			until := in.Now.Add(left).UTC().Format(time.RFC3339)
			kept[name] = "the decisions no longer name the cluster: it keeps what it has until " + until + " and gets no more"
			choice.Again = min(cmp.Or(choice.Again, left), left)
		}
		groups[name] = ""
	}
	return kept
}

// keeps tells whether a cluster that is not decided for keeps its share, and for how long; 0 is without
// an end.
func (in Input) keeps(cluster Cluster) (bool, time.Duration) {
	if in.Spec.PlacementRef == nil || !cluster.Usable() {
		return false, 0
	}
	if cluster.Unreachable {
		return true, 0
	}
	left := max(in.graceOf(cluster.Name), 0)
	return left > 0, left
}

// graceOf is how long a dropped cluster keeps its share from now on.
func (in Input) graceOf(cluster string) time.Duration {
	since, known := in.Dropped[cluster]
	if !known {
		since = in.Now
	}
	return in.Grace - in.Now.Sub(since)
}

// Dropped names the clusters that hold a share, are well and are missing from the decisions of OCM, in
// the order of in.Holding. There are none while the decisions cannot be relied upon. The caller remembers
// since when, for Input.Dropped: OCM takes the taint off a cluster that returns before it decides for it
// again, and a drop may be read before the taint that made it.
func Dropped(in Input) (out []string) {
	if in.Spec.PlacementRef == nil {
		return nil
	}
	groups := map[string]string{}
	decided(in.Decisions, groups)
	if unresolved(in.Spec.PlacementRef.Name, in.Placement, len(groups)) != "" {
		return nil
	}
	for _, name := range in.Holding {
		cluster := in.Clusters[name]
		if _, named := groups[name]; !named && cluster.Usable() && !cluster.Unreachable {
			out = append(out, name)
		}
	}
	return out
}

func frozen(c Cluster) string {
	if c.Unreachable {
		return "the cluster is out of reach: it keeps what it has and gets no more"
	}
	return ""
}
