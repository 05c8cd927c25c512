// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
)

// Whole is the name of the subset that is the whole object.
const Whole = ""

// Cluster is one chosen cluster.
type Cluster struct {
	placement.Selected
	// Weight is the cluster's part in divisions, 0 to 1000000.
	Weight int32
	// Object is the hub's object as this cluster gets it, numbers and selectors aside. Clusters with
	// the same overrides share it: it must not be changed.
	Object *unstructured.Unstructured
}

// Holdings are the replicas of each subset, by cluster and then by subset.
type Holdings map[string]map[string]int32

// Of returns what a cluster holds of a subset. Of the whole object it holds what it holds of all subsets.
func (h Holdings) Of(cluster, subset string) int32 {
	if subset == Whole {
		return Slice{Held: h[cluster]}.Replicas()
	}
	return h[cluster][subset]
}

// Total returns what all clusters hold of a subset.
func (h Holdings) Total(subset string) int32 {
	var total int32
	for cluster := range h {
		total += h.Of(cluster, subset)
	}
	return total
}

// Terms are node selector terms by subset.
type Terms map[string]corev1.NodeSelectorTerm

// Request asks a divider for a Plan.
type Request struct {
	// Target is the hub's object. It must not be changed.
	Target *unstructured.Unstructured
	// Mode is Divided or Duplicated.
	Mode fleetv1alpha1.DivisionMode
	// Clusters chosen, by name.
	Clusters []Cluster
	// Held is what every cluster with a slice holds now, also those no longer chosen.
	Held Holdings
	// Given are the node selector terms that clusters hold now, by cluster and then by subset.
	Given map[string]Terms
	// Left says of clusters which are not chosen, why.
	Left map[string]string
	// Most are the replicas that a cluster may have of a subset because more found no node there of late.
	// What is not in it has no such bound.
	Most Holdings
	// Fixed are the shares of the chosen clusters when another divider has decided them already; nil when
	// they are to be decided.
	Fixed map[string]int32
}
