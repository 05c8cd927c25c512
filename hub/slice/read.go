// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// Reading is what a member says in a slice's status.
type Reading struct {
	// State of the share, apart from Stale, which a slice does not know.
	State fleetv1alpha1.ClusterState
	// Message says why, when the state is not Applied.
	Message string
	// Observed tells that the member applied the newest spec and that, for a divided object, its
	// controller has observed that.
	Observed bool
	// Counters of each subset. Updated counters are 0 unless they speak of the present revision.
	Counters map[string]fleetv1alpha1.SubsetCounters
	// Spread is what the member's WorkloadSpread says of its subsets; nil when there is none.
	Spread []fleetv1alpha1.SpreadCounters
}

// Read reads a slice's status.
func Read(s *fleetv1alpha1.FleetSlice) Reading {
	state, message := stateOf(s)
	r := Reading{State: state, Message: message, Counters: make(map[string]fleetv1alpha1.SubsetCounters, len(s.Status.Subsets)), Spread: s.Status.Spread}
	settled := s.Spec.Split == nil || s.Status.ObjectObservedGeneration >= s.Status.ObjectGeneration
	r.Observed = state == fleetv1alpha1.ClusterApplied && settled
	current := settled && speaksOfRevision(s)
	for _, c := range s.Status.Subsets {
		if !current {
			c.UpdatedReplicas, c.UpdatedReadyReplicas = 0, 0
		}
		r.Counters[c.Subset] = c
	}
	return r
}

func speaksOfRevision(s *fleetv1alpha1.FleetSlice) bool {
	since, err := strconv.ParseInt(s.Annotations[RevisionSinceAnnotation], 10, 64)
	if err != nil {
		since = s.Generation - 1 // not said: only the newest generation is sure to carry it
	}
	return s.Status.ObservedGeneration > since
}

func stateOf(s *fleetv1alpha1.FleetSlice) (fleetv1alpha1.ClusterState, string) {
	if !s.DeletionTimestamp.IsZero() {
		return fleetv1alpha1.ClusterDeleting, "waiting for the member to take its objects back, or to let go of them"
	}
	applied := conditions.Find(s.Status.Conditions, fleetv1alpha1.SliceConditionApplied)
	switch {
	case applied == nil:
		return fleetv1alpha1.ClusterPending, "the member has not reported yet"
	case s.Status.ObservedGeneration < s.Generation:
		return fleetv1alpha1.ClusterPending, "the member has not observed its newest share yet"
	case applied.Status == metav1.ConditionTrue:
		return fleetv1alpha1.ClusterApplied, ""
	case applied.Reason == fleetv1alpha1.SliceReasonConflict:
		return fleetv1alpha1.ClusterConflict, applied.Message
	case applied.Reason == fleetv1alpha1.SliceReasonRetrying:
		return fleetv1alpha1.ClusterPending, applied.Message
	default:
		return fleetv1alpha1.ClusterFailed, applied.Message
	}
}
