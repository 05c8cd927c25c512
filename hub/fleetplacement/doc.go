// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleetplacement reconciles FleetPlacements: it reads the target, the clusters and the slices
// there are, lets the divider of the target's kind make a plan, writes the slices, and reports.
//
// One pass, whatever woke it up:
//
//	gather  the placement, its target, all ManagedClusters, the OCM decisions, the slices, the agents' leases
//	decide  pure: which clusters, which shares, what stands in the way (decision)
//	apply   finalizers first, then slices; a slice that is as it should be is not written
//	report  status of the target and of the placement; not written when equal, and at most once a second
//	        while only counters move
//
// What stands in the way, and what it means for the members:
//
//	condition                          reason                            members
//	Resolved=False                     TargetTaken, TargetNotSupported,  keep what they have
//	                                   NoClusters
//	Resolved=False                     TargetNotFound                    lose it
//	Resolved=False                     UnknownClusters                   the known ones are served
//	FleetPlaced=False                  InvalidTarget, RenderFailed,      keep what they have
//	                                   ApplyFailed (no finalizer)
//	FleetPlaced=False                  InsufficientCapacity              get as much as fits; keep what they
//	                                                                     have when nothing fits anywhere
//
// A selection that turns empty takes nothing back: a mistake in a selector, a lost label and a deleted
// binding look just like it. Whatever stands in the way, slices of clusters that exist no more go, and so
// do those that are being deleted already. What is being deleted is no share any more: a cluster that is
// chosen meanwhile is frozen at nothing until its old slice has gone.
//
// Of two placements for one target the older holds it; the younger waits in TargetTaken.
//
// Deletion works from both ends. Finalizer fleet.kruise.io/cleanup is on the placement and on its target;
// whichever goes, the slices are deleted, and the finalizer goes when the last slice has gone. A cluster
// that is no longer selected loses its slice likewise. A slice goes when the member's agent has taken its
// objects back (Cascade) or let go of them (Orphan). The agent of a cluster that is gone for ever cannot
// do that: when its ManagedCluster no longer exists and its Lease is gone or stale, the hub takes the slice's
// finalizer off itself.
//
// A WorkloadSpread that names the target is read with it: the divider then goes by both, and makes the status
// of both. Of two for one target the older counts. One that nobody goes by is told so in its subsets'
// condition FleetPlaced: NoPlacement, or TargetTaken.
//
// Objects of our own kinds that no placement names go nowhere: condition FleetPlaced=False/NoPlacement says so.
//
// ConfigMaps and Secrets that pods of a slice need go to its cluster in slices of their own, which no
// placement made (needs): one a cluster, for all who need it, until the last of them has gone.
//
// A member's counters are stale when its ManagedCluster is not available, or its agent has not renewed
// Lease flotilla in the cluster's namespace for a while. They are kept, and FleetStatusFresh names it. An agent
// that comes back after its Lease ran out says so in the Lease (acquireTime), and its counters stay stale until
// it had time to report: after an outage of the hub, status is marked stale and then fresh.
package fleetplacement
