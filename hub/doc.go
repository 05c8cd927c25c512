// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command flotilla-hub divides the workloads of a fleet over its member clusters and sums up what they
// report. It runs against the hub's API server.
package main
