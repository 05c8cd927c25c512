// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workloadspread divides a workload over clusters by the WorkloadSpread that names it, and sums
// up what the members' WorkloadSpreads say. It is pure.
//
// It decides how many replicas each cluster gets; what a workload of that many replicas looks like in a
// member is left to the divider of the workload's kind (Inner).
//
// Divided, subsets are filled in their order: each takes what is left, up to its maxReplicas (a number,
// or a percentage of the workload's replicas rounded up), and divides it over the clusters that its
// requiredNodeSelector matches, by their weights and with forced moves only (hub/split). What a subset
// would take and no cluster can hold goes on to the next. So a smaller total empties the last subset
// first, and a larger one lowers no subset.
//
//	replicas                             go
//	within the bounds                    to their subsets
//	beyond the bounds of all subsets     to any cluster, in no subset: as pods that one cluster's
//	                                     WorkloadSpread does not take
//	that no cluster can hold             nowhere, and condition FleetPlaced says so
//
// A replica that a subset has to let go of stays in its cluster when a later subset can take it there.
//
// A member gets a WorkloadSpread of the same name with the subsets that match the cluster. Their terms are
// what is left of them for nodes, and their maxReplicas are the cluster's part of the subset's bound, never
// below its share: so a member that fills its subsets in order arrives at its shares. Where no subset has
// anything left to say about nodes, tolerations or pods, the member gets none.
//
// Duplicated, every cluster is on its own: it gets the whole workload and those bounds as they are.
//
// With the Adaptive strategy a member moves pods on between its own subsets. Besides, where members report
// replicas of a subset that found no node for rescheduleCriticalSeconds, the cluster gets no more of that
// subset than found one (share.Request.Most): the others go to other clusters of the subset, or on to later
// ones. Of the last subset what cannot go elsewhere stays and waits. Where nothing is known of it, since
// the member has no WorkloadSpread or the time is not set, a note says so.
package workloadspread
