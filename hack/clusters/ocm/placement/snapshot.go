// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
)

// Snapshot is all that a decision depends on, read at one moment.
type Snapshot struct {
	Now       time.Time
	Placement *clusterv1beta1.Placement
	// Clusters are all clusters of the hub, in any order.
	Clusters []*clusterv1.ManagedCluster
	// Sets are all cluster sets of the hub.
	Sets []*clusterv1beta2.ManagedClusterSet
	// Bindings are those of the Placement's namespace.
	Bindings []*clusterv1beta2.ManagedClusterSetBinding
	// Selected are the clusters in the Placement's decisions as they stand.
	Selected sets.Set[string]
}

// Plan is what a Placement comes to.
type Plan struct {
	// Groups are the selected clusters. There is at least one group, except
	// where no decision can be written at all.
	Groups []Group
	// Satisfied and Misconfigured are what the Placement's conditions say.
	Satisfied, Misconfigured Verdict
	// NextChange is when a tolerated taint stops being tolerated; zero for never.
	NextChange time.Time
}

// Group is one decision group; Name is empty for clusters that no named group took.
type Group struct {
	Name     string
	Clusters []string
}

// Verdict is a condition without its bookkeeping.
type Verdict struct {
	True            bool
	Reason, Message string
}

// NumberOfClusters is how many clusters the plan selects.
func (p Plan) NumberOfClusters() int {
	n := 0
	for _, g := range p.Groups {
		n += len(g.Clusters)
	}
	return n
}

// clusterList serves a list of clusters to the helpers of sdk-go.
type clusterList []*clusterv1.ManagedCluster

// List gives the clusters whose labels match.
func (l clusterList) List(selector labels.Selector) ([]*clusterv1.ManagedCluster, error) {
	var out []*clusterv1.ManagedCluster
	for _, c := range l {
		if selector.Matches(labels.Set(c.Labels)) {
			out = append(out, c)
		}
	}
	return out, nil
}
