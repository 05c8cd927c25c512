// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stop ends one instance of a container, so that the kubelet starts the container anew. It does so as the
// kubelet itself ends containers: the preStop hook first, then the signal, then, when the grace period is over, by force.
//
// It promises:
//   - Only the very instance that was named is stopped, and only when the runtime's own record says that it belongs to
//     that container of that pod (namespace, name and UID).
//   - An instance that does not run, or is gone, is left alone: stopping it twice stops it once.
//   - The hook runs for at most the grace period, and what it took is taken off the rest of it, which is at least 2
//     seconds. A hook that fails or takes too long does not keep the container from being stopped; an event says that it
//     failed.
//   - Background keeps stops from holding workers: one that takes hours keeps no other pod waiting, and ends with its
//     pod: another of its name has a stop of its own.
//   - A runtime that is lost in the middle is an error, and nothing is taken for done: the next try begins anew, with the
//     hook.
//
// Hook and grace period are those of the pod's spec, which cannot change while the pod lives: the runtime's copies of
// them (labels and annotations of the container) say the same, and less.
package stop
