// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package execute is the one writer of pods and their claims: it carries out a podset.Plan by
// creations in slow start, narrow patches and deletions by uid, and tells what happened as events.
//
// A pass must not plan on a cache that lags behind the writes of the pass before. Expectations holds
// what was written and is not seen yet, per workload. Observe compares the cache with it: what is
// seen is forgotten; while something is missing the workload waits; after a short while the API
// server itself is asked about just those objects, and the answer goes into the snapshot. So no lost
// event, and no object deleted by somebody else in between, can stop a workload.
//
// Where claims outlive pods that vanish, those of a pod that is to be deleted are marked first
// (GoesWithPod), so that a process that ends between the two deletions leaves no claim that looks
// like one to use again.
//
// The read-your-writes option of controller-runtime's client is not used for pods: it waits for the
// writes of every workload at once, blocks a worker meanwhile, and never returns when the last
// object written was deleted while the watch was down.
package execute
