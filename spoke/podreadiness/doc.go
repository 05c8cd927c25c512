// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podreadiness gives pods of our workloads the readiness gate KruisePodReady, by which many
// may hold a pod not ready, and opens the gates of a new pod: every gate of ours that has no
// condition yet is set True in one write, whatever the workload's update type and even while it is
// paused.
package podreadiness
