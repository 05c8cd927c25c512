// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ocm gives local clusters what Open Cluster Management would: a
// stand-in for its registration and placement controllers on the hub and its
// registration agents in the members, on the real types and CRDs. It is a tool
// for tests and demos and no part of the product.
//
// One process serves the hub and all members (Run, or the command
// ocm-stand-in). The halves can be run apart, --run hub and --run members, so
// that a test can take an agent away without its cluster.
//
//	crds          the CRDs, from the module of the types
//	registration  hub half: acceptance, roles, leases, taints, sets
//	agent         member half: lease, health, version, capacity, claims
//	placement     Placement to PlacementDecisions
//	identity      names that both halves and the add-on flow agree on
//
// What readers of a hub can rely on for regions and zones: each ManagedCluster
// has in its status the claims "region" and "zones" (zones joined with commas,
// in order) taken from its nodes' labels, and the label
// topology.kubernetes.io/region.
//
// A namespace that holds Placements needs a ManagedClusterSetBinding (to
// "global", which holds every cluster, or "default"); none is made here.
//
// Source is the seam between the local clusters and whatever speaks OCM in
// them: it names the processes to start. StandIn is one; real OCM binaries can
// be another.
package ocm
