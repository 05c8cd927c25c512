// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides how far a rollout may go now. It is pure: resolved numbers and facts about
// pods go in, counts and an order of pods come out.
//
//   - Resolve turns integers and percentages into numbers, with the rounding of each field.
//   - Compute compares the pods there are with the pods there should be: how many to create, to
//     delete, to update, on which side of the partition, within which limits.
//   - Order sorts update candidates: least valuable first, then by priority, then scattered.
//   - Pick takes from the front of that order what the unavailability budget allows.
//   - ScaleDownOrder ranks the pods to remove.
//
// Pods that are not available already do not consume budget when they are moved.
package rollout
