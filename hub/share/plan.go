// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/split"
)

// Slice is what one cluster gets.
type Slice struct {
	// Cluster it is for.
	Cluster string
	// Object for the member, without the numbers below.
	Object *unstructured.Unstructured
	// Others go to the member beside it, and are there before it is.
	Others []*unstructured.Unstructured
	// Split and Partitions are the numbers the member's agent puts in. A nil Split is a whole copy.
	Split      []fleetv1alpha1.SubsetReplicas
	Partitions []fleetv1alpha1.SubsetPartition
	// Held is the share of each subset, and Terms the node selector term, for the next Request.
	Held  map[string]int32
	Terms Terms
}

// Replicas is the cluster's share over all subsets.
func (s Slice) Replicas() int32 {
	var total int32
	for _, n := range s.Held {
		total += n
	}
	return total
}

// Subset is the target of one subset over all clusters.
type Subset struct {
	// Name of the subset, Whole for the whole object.
	Name string
	// Replicas placed, all clusters together.
	Replicas int32
	// Partition is how many of them stay at the old revision.
	Partition int32
}

// Shortage is a subset that found no place for all its replicas.
type Shortage struct {
	// Subset by name.
	Subset string
	// Replicas without a place.
	Replicas int32
	// Full says for each cluster why it takes no more; empty when no cluster is eligible.
	Full []split.Full
	// Why says, when no cluster is eligible, why.
	Why string
}

// String is a sentence for people, of bounded length.
func (s Shortage) String() string {
	what := "replicas"
	if s.Subset != Whole {
		what = "replicas of subset " + s.Subset
	}
	if len(s.Full) == 0 {
		return fmt.Sprintf("%d %s have no place: %s", s.Replicas, what, s.Why)
	}
	var parts []string
	for i, f := range s.Full {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(s.Full)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s has %d (%s)", f.Name, f.Replicas, f.Why))
	}
	return fmt.Sprintf("%d %s have no place: %s", s.Replicas, what, strings.Join(parts, ", "))
}

// maxNamed bounds how many clusters a message names.
const maxNamed = 10

// Move is the change of one cluster's share of one subset.
type Move struct {
	split.Move
	// Subset by name.
	Subset string
}

// Plan is a division.
type Plan struct {
	// Revision is the hub's name for the pod template, "" for kinds without one.
	Revision string
	// Slices by cluster.
	Slices []Slice
	// Subsets in the object's order.
	Subsets []Subset
	// Short lists the subsets without enough room.
	Short []Shortage
	// Notes are further sentences for people: numbers that were cut or could not be read.
	Notes []string
	// Moves are the shares that change.
	Moves []Move
	// Spread is what a WorkloadSpread made of the division; nil without one.
	Spread *Spread
}

// Spread is a division by a WorkloadSpread.
type Spread struct {
	// Subsets in the order in which they are filled.
	Subsets []SpreadSubset
	// Copied are the clusters that get a WorkloadSpread of their own.
	Copied map[string]bool
}

// SpreadSubset is one subset of a WorkloadSpread over all clusters.
type SpreadSubset struct {
	// Name of the subset.
	Name string
	// Most is how many replicas it takes at most; nil without a bound.
	Most *int32
	// Shares of the clusters, and Bounds: what each takes at most, nil without a bound.
	Shares, Bounds map[string]int32
	// Passed is how many replicas it would take and did not, and Why: they went on to later subsets.
	Passed int32
	Why    string
}

// Replicas is the sum over all subsets.
func (p Plan) Replicas() int32 {
	var total int32
	for _, s := range p.Subsets {
		total += s.Replicas
	}
	return total
}

// Partition is the sum over all subsets.
func (p Plan) Partition() int32 {
	var total int32
	for _, s := range p.Subsets {
		total += s.Partition
	}
	return total
}

// Problem is the error of a target that cannot be divided: until it is mended, members keep what they
// have.
type Problem struct {
	// Reason is a reason of condition FleetPlaced.
	Reason string
	// Message says what to mend.
	Message string
}

// Error implements error.
func (p Problem) Error() string { return p.Message }
