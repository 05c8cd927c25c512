// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// Report is what one member says of its share.
type Report struct {
	// Cluster it is of.
	Cluster string
	// Counters of each subset, the last known. Updated counters are 0 unless they are known to speak
	// of the share's present revision.
	Counters map[string]fleetv1alpha1.SubsetCounters
	// Spread is what its WorkloadSpread says of its subsets; nil when it has none, or has yet to say.
	Spread []fleetv1alpha1.SpreadCounters
}

// Summary is all that is known of the members.
type Summary struct {
	// Plan they follow; nil when the object cannot be divided now, or goes nowhere.
	Plan *Plan
	// Reports of all clusters with a slice, by name.
	Reports []Report
	// Observed tells that every slice is written, and that every member which can be reached has
	// observed its newest share.
	Observed bool
	// Conditions FleetPlaced, FleetProgressing and FleetStatusFresh, for kinds that have conditions.
	Conditions []metav1.Condition
	// Now is the time of this pass.
	Now metav1.Time
}

// Of sums a subset's counters over all members.
func (s Summary) Of(subset string) fleetv1alpha1.SubsetCounters {
	sum := fleetv1alpha1.SubsetCounters{Subset: subset}
	for _, r := range s.Reports {
		add(&sum, r.Counters[subset])
	}
	return sum
}

// Total sums all counters over all members.
func (s Summary) Total() fleetv1alpha1.SubsetCounters {
	var sum fleetv1alpha1.SubsetCounters
	for _, r := range s.Reports {
		add(&sum, r.Total())
	}
	return sum
}

// Total sums a member's counters over its subsets.
func (r Report) Total() fleetv1alpha1.SubsetCounters {
	var sum fleetv1alpha1.SubsetCounters
	for _, c := range r.Counters {
		add(&sum, c)
	}
	return sum
}

func add(to *fleetv1alpha1.SubsetCounters, c fleetv1alpha1.SubsetCounters) {
	to.Replicas += c.Replicas
	to.ReadyReplicas += c.ReadyReplicas
	to.UpdatedReplicas += c.UpdatedReplicas
	to.UpdatedReadyReplicas += c.UpdatedReadyReplicas
	to.UnavailableReplicas += c.UnavailableReplicas
	to.Partition += c.Partition
}
