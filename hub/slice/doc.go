// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slice is the one writer of FleetSlices and the reader of what members report in them.
//
// It writes a slice only when its content differs from what the cache has, so the generation of a slice
// that stays as it is does not move; it compares by digest, because the cache holds no manifests
// (Transform). A slice is created with finalizer fleet.kruise.io/member-cleanup: deleting it hands it to
// the member's agent, which takes its objects back or lets go of them by the slice's deletion policy.
// Only when the ManagedCluster and its agent are gone does the hub take the finalizer off (Release).
//
// Read answers what a slice's status says. Counters of updated pods count only once the member is known
// to speak of the revision the slice carries; until then they speak of an older one.
package slice
