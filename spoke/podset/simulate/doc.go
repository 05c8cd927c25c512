// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate is a world in memory for simulating whole rollouts in unit tests: an API server
// that keeps pods, a cache that lags behind it, nodes that run pods, and faults. Everything random
// comes from one seed, so that a run can be repeated.
//
// A test moves it step by step: Nodes plays scheduler and kubelet, Deliver brings events to the
// cache, View gives what a controller would see (or nothing while its own writes are missing), and
// Apply carries a plan out as package execute would.
package simulate
