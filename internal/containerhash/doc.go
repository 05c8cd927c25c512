// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containerhash computes the hashes by which the node agent and the in-place engine agree on
// what a container runs: kubelet's hash of a container's spec, and the hash of the env variables a
// container takes from labels and annotations of its pod.
package containerhash
