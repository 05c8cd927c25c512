// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	sdkv1beta2 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta2"
)

// candidatesOf gives the clusters, in order of names, of the sets the Placement may draw on; or why there are none.
func candidatesOf(s Snapshot) ([]*clusterv1.ManagedCluster, *Verdict) {
	bound := boundSets(s)
	if len(bound) == 0 {
		return nil, &Verdict{Reason: ReasonNoBindings, Message: fmt.Sprintf(
			"namespace %s has no ManagedClusterSetBinding to an existing set", s.Placement.Namespace)}
	}
	if wanted := s.Placement.Spec.ClusterSets; len(wanted) > 0 {
		bound = slices.DeleteFunc(bound, func(set *clusterv1beta2.ManagedClusterSet) bool {
			return !slices.Contains(wanted, set.Name)
		})
		if len(bound) == 0 {
			return nil, &Verdict{Reason: ReasonNoIntersection, Message: fmt.Sprintf(
				"none of the sets %s is bound to namespace %s", strings.Join(wanted, ", "), s.Placement.Namespace)}
		}
	}
	clusters := clustersOf(s.Clusters, bound)
	if len(clusters) == 0 {
		return nil, &Verdict{Reason: ReasonAllSetsEmpty, Message: "the sets " + namesOf(bound) + " hold no cluster"}
	}
	return clusters, nil
}

// boundSets are the existing sets that bindings name, in order of names.
func boundSets(s Snapshot) []*clusterv1beta2.ManagedClusterSet {
	names := sets.New[string]()
	for _, b := range s.Bindings {
		if b.DeletionTimestamp == nil {
			names.Insert(b.Spec.ClusterSet)
		}
	}
	var bound []*clusterv1beta2.ManagedClusterSet
	for _, set := range s.Sets {
		if set.DeletionTimestamp == nil && names.Has(set.Name) {
			bound = append(bound, set)
		}
	}
	slices.SortFunc(bound, func(a, b *clusterv1beta2.ManagedClusterSet) int { return strings.Compare(a.Name, b.Name) })
	return bound
}

// clustersOf leaves out clusters on their way out. A set whose selector is no selector holds nothing.
func clustersOf(all []*clusterv1.ManagedCluster, from []*clusterv1beta2.ManagedClusterSet) []*clusterv1.ManagedCluster {
	seen := sets.New[string]()
	var out []*clusterv1.ManagedCluster
	for _, set := range from {
		members, err := sdkv1beta2.GetClustersFromClusterSet(set, clusterList(all))
		if err != nil {
			continue
		}
		for _, c := range members {
			if c.DeletionTimestamp == nil && !seen.Has(c.Name) {
				seen.Insert(c.Name)
				out = append(out, c)
			}
		}
	}
	sortByName(out)
	return out
}

func namesOf(list []*clusterv1beta2.ManagedClusterSet) string {
	names := make([]string, 0, len(list))
	for _, set := range list {
		names = append(names, set.Name)
	}
	return strings.Join(names, ", ")
}
