// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the member half of the stand-in: what OCM's registration
// agent does for one cluster.
//
// It joins by creating the ManagedCluster (with the hub credentials it was
// started with), waits to be accepted, and from then on acts on the hub as
// system:open-cluster-management:<cluster>:<agent> with the rights the hub half
// granted, by impersonation; signed certificates will take that place.
//
// It works in passes, one each heartbeat (the lease duration, or 10 s if that
// is shorter) and soon after nodes or claims of the member change. A pass
// asks the member's /readyz and reports:
//
//   - ManagedClusterJoined, and ManagedClusterConditionAvailable: False when
//     the member failed two checks in a row, True when it answers. The lease is
//     renewed either way: it speaks for the agent, not for the API server.
//   - version; capacity and allocatable as plain sums over nodes, nodes that
//     are unschedulable left out of allocatable
//   - ClusterClaims of the member: OCM's reserved names first, then at most 20
//     others in order of names
//
// Two claims it keeps on the member itself, from the labels of its nodes, where
// no claim of that name was made by somebody else:
//
//	region   topology.kubernetes.io/region of the nodes
//	zones    topology.kubernetes.io/zone of the nodes
//
// Several values are sorted and joined with commas. A claim whose label no node
// has is removed. Facts of a member that cannot be read stay as last reported.
package agent
