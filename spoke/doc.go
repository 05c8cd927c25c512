// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command flotilla-spoke runs the workload suite in one cluster, and carries out its share of what
// the hub says when it is given the hub's credentials.
package main
