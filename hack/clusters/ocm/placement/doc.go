// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement resolves Placements into PlacementDecisions, as OCM's
// placement controller does.
//
// Decide is pure: a Snapshot of a Placement, the clusters, the sets and the
// bindings of its namespace gives a Plan. Candidates are the clusters of the
// sets bound to the namespace (narrowed by spec.clusterSets); predicates are
// ORed, and within one the label and the claim selector are ANDed; clusters with a taint that
// is not tolerated fall out; numberOfClusters cuts, keeping clusters that are
// already selected first and going by name otherwise. The same snapshot always
// gives the same plan. Nothing looks at hubAcceptsClient, as in OCM.
//
//	taint effect     kept when
//	NoSelect         tolerated, and not longer than tolerationSeconds since timeAdded
//	NoSelectIfNew    tolerated, or already selected
//	PreferNoSelect   always
//
// The selected clusters fall into decision groups: first the named ones in
// their order, then the rest, each cut at clustersPerDecisionGroup. A group is
// written as PlacementDecisions of at most 100 clusters, named
// <placement>-decision-N from 1 and labelled with placement, group name and
// group index. Without any selected cluster there is one empty decision.
//
// What this stand-in cannot do makes the Placement misconfigured, with the
// reason in the condition PlacementMisconfigured, and selects nothing: CEL
// selectors, and prioritizers other than Balance and Steady (which only matter
// where numberOfClusters cuts). sortBy, scoreRateLimit and spreadPolicy are
// read by nobody, as in OCM 1.3.
package placement
