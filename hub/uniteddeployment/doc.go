// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uniteddeployment divides UnitedDeployments over clusters and sums their status up.
//
// The replicas of each subset follow from the object's own rules, by the same code as in a member
// (internal/allocate); then each subset is divided over the clusters that its nodeSelectorTerm matches
// (hub/split). A member gets a UnitedDeployment of the same name with the subsets that match it:
//
//	schedule  the member's object              the slice's split
//	Fixed     subsets without numbers          replicas of each subset
//	Adaptive  subsets with the member's part   replicas of the whole object: the member moves them
//	          of minReplicas and maxReplicas   between its own subsets
//
// With Adaptive, minima and maxima are cut so that a member without trouble arrives at the hub's numbers
// by itself. When all subsets of a member have a maximum, the last one's is left out, because an object
// without an open subset is refused.
//
// A cluster that holds a subset and no longer says whether it matches (placement.Verdict.Unknown) keeps
// the share and the term it has, gets no more, and is named in a note.
//
// Manual partitions are divided in proportion to the shares, never above a share.
//
// A UnitedDeployment that no FleetPlacement names goes nowhere, and condition FleetPlaced says so.
package uniteddeployment
