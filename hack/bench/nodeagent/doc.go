// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command nodeagent measures pulling images ahead on a local cluster: one ImagePullJob over many simulated nodes, whose
// agents this program plays (seconds, the spoke's writes for each node and for the job, its CPU seconds and memory), and
// the memory of a real agent whose NodeImage has many images, with a container runtime in memory. It prints a table and
// writes it as JSON.
//
// usage: go run ./hack/bench/nodeagent [--nodes N] [--parallelism N] [--images N] [--out FILE]
package main
