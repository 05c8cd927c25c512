// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// AddOnName is the name of the Open Cluster Management add-on, and of its Lease.
	AddOnName = "flotilla"

	// ClusterKey is a node selector key of hub subsets: the name of a member cluster. It is
	// matched on the hub and removed from the member's copy.
	ClusterKey = "fleet.kruise.io/cluster"
	// ProviderKey is a node selector key of hub subsets: the provider label of a member cluster.
	// It is matched on the hub and removed from the member's copy.
	ProviderKey = "fleet.kruise.io/provider"
	// ClusterSetKey is a node selector key of hub subsets: the OCM cluster set of a member. It is
	// matched on the hub and removed from the member's copy.
	ClusterSetKey = "cluster.open-cluster-management.io/clusterset"

	// SourceUIDLabel is on FleetSlices: the uid of the hub object they carry. Hub writes and reads.
	SourceUIDLabel = "fleet.kruise.io/source-uid"
	// PlacementUIDLabel is on FleetSlices: the uid of the FleetPlacement that made them.
	PlacementUIDLabel = "fleet.kruise.io/placement-uid"
	// SliceLabel is on member objects: the name of the FleetSlice they come from. The member's
	// agent writes it; it marks what the agent may delete.
	SliceLabel = "fleet.kruise.io/slice"
	// SourceAnnotation is on member objects: namespace/name of the hub object. Agent writes.
	SourceAnnotation = "fleet.kruise.io/source"

	// CleanupFinalizer is on FleetPlacements and their targets: slices are taken back before the object goes.
	CleanupFinalizer = "fleet.kruise.io/cleanup"
	// SliceFinalizer is on FleetSlices: the member's agent takes its objects back (or lets go of
	// them) before the slice goes.
	SliceFinalizer = "fleet.kruise.io/member-cleanup"

	// TemplateFieldOwner owns the member object apart from numbers.
	TemplateFieldOwner = "fleet-template"
	// SplitFieldOwner owns the replica numbers of member objects.
	SplitFieldOwner = "fleet-split"
	// RolloutFieldOwner owns the partitions of member objects.
	RolloutFieldOwner = "fleet-rollout"
)
