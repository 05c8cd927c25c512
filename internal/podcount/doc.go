// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podcount turns the limits of workloads, which are numbers or percentages, into numbers of pods.
// It is pure. Hub and members count by it, so that a fleet stands where its members would.
package podcount
