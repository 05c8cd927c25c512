// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// keepsAll is what a person should know when nothing is taken back although nobody should have anything.
const keepsAll = "members keep what they have; delete the FleetPlacement to take it back"

// nothingChosen stops when no cluster is selected while some hold a share: a selector with a mistake in
// it, a label that was lost and a binding that was deleted look just like that.
func (d *decision) nothingChosen(s *snapshot, choice placement.Choice) bool {
	if len(choice.Clusters) > 0 || !s.isHeld() {
		return false
	}
	message := "nothing is selected: " + keepsAll
	if len(choice.Left) > 0 {
		message += ": " + reasons(choice.Left)
	}
	d.cannot(fleetv1alpha1.ReasonNoClusters, message)
	d.remove = ofClusters(s, func(c placement.Cluster, known bool) bool { return !known || c.Deleting })
	return true
}

// nothingPlanned stops when a plan wants replicas and gives none of the selected clusters any share, while
// some clusters hold one.
func (d *decision) nothingPlanned(s *snapshot, plan share.Plan) bool {
	if len(plan.Slices) > 0 || !s.isHeld() || !wantsReplicas(s, plan) {
		return false
	}
	message := "no selected cluster can take a share: " + keepsAll
	for _, short := range plan.Short {
		message += "; " + short.String()
	}
	d.placed = &share.Problem{Reason: fleetv1alpha1.ReasonInsufficientCapacity, Message: message}
	d.remove = ofClusters(s, func(c placement.Cluster, known bool) bool { return !known || c.Deleting })
	return true
}

// wantsReplicas tells whether a plan without slices leaves something without a place. Copies are not
// short of anything: there the object's own number says it.
func wantsReplicas(s *snapshot, plan share.Plan) bool {
	if s.placement.Spec.Division.Mode != fleetv1alpha1.DivisionDuplicated {
		return len(plan.Short) > 0
	}
	n, found, err := unstructured.NestedInt64(s.target.Object, "spec", "replicas")
	return err != nil || !found || n > 0
}

// isHeld tells whether a cluster that is there to stay holds a share that is there to stay.
func (s *snapshot) isHeld() bool {
	for cluster, one := range s.slices {
		if c, known := s.clusters[cluster]; known && !c.Deleting && one.DeletionTimestamp.IsZero() {
			return true
		}
	}
	return false
}

// ofClusters are the slices of some clusters, strays first.
func ofClusters(s *snapshot, want func(c placement.Cluster, known bool) bool) (out []*fleetv1alpha1.FleetSlice) {
	for _, one := range all(s) {
		if c, known := s.clusters[one.Namespace]; want(c, known) {
			out = append(out, one)
		}
	}
	return out
}

// leaving adds to what is removed the slices of clusters that exist no more, and, when there is no plan,
// those that are being deleted already: whatever stands in the way of the others, these go.
func (d *decision) leaving(s *snapshot) {
	for _, one := range all(s) {
		_, known := s.clusters[one.Namespace]
		if (!known || d.plan == nil && !one.DeletionTimestamp.IsZero()) && !slices.Contains(d.remove, one) {
			d.remove = append(d.remove, one)
		}
	}
}
