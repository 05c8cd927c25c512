// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement decides which clusters an object goes to. It is pure: it takes ManagedClusters,
// Placements and PlacementDecisions as they were read and asks nobody.
//
// Choose answers which clusters a FleetPlacement names. Only clusters that the hub accepted and that
// are not being deleted count. A cluster that Open Cluster Management dropped from the decisions
// because it is unreachable is kept when it holds a share: what then happens is our failover's
// business, not the drop's. Taints and decisions come one after the other, so a cluster that is well and
// was dropped keeps its share for a grace, frozen; Dropped names those whose grace runs. Names and
// selectors of the FleetPlacement itself count at once.
//
// Compile and Term.Match answer for which of them a subset's node selector term holds, as if a cluster
// were a node with several values V for a key. T are the values of the term:
//
//	operator      the cluster matches when   the member's copy keeps
//	In T          V ∩ T is not empty         In (V ∩ T); nothing when V ⊆ T
//	NotIn T       V \ T is not empty, or V is   NotIn T; nothing when V ∩ T is empty
//	Exists        V is not empty             nothing for cluster-only keys, else Exists
//	DoesNotExist  V is empty                 nothing for cluster-only keys, else DoesNotExist
//
// Cluster-only keys (fleet.kruise.io/cluster, fleet.kruise.io/provider, the OCM cluster set) are never
// kept. Topology keys (topology.kubernetes.io/region and zone) are read from the cluster's claims.
// A term given at an earlier time stays as long as it chooses the same nodes (Term.Holds): zones come
// and go, and a workload whose node affinity changes makes its pods anew.
//
// A region, zone or provider that a requirement asks for and of which the cluster says nothing makes the
// verdict Unknown: no new share goes there, and a share that is there stays, because claims go missing
// when an agent is upgraded or too many of them are made.
//
// Any other key is the member's business: it matches every cluster and passes through. matchFields, and
// Gt and Lt on the keys above, cannot be evaluated for a cluster and are refused.
package placement
