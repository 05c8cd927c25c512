// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containerhash computes the hashes by which a change of a container is recognised on both sides: by
// the node agent, which reads what a running container was made from, and by the in-place updates, which know
// what it should be made from.
//
// It promises that the same input gives the same hash in every release and on every platform, and the hashes
// are those of the annotation as OpenKruise defines it, so that a cluster can change over without a restart.
// Everything here is pure.
package containerhash
