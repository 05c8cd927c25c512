// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cloneset measures CloneSets on a local cluster with simulated nodes, and beside them, in the same run, the same
// work done by kube-controller-manager's Deployments and by a bare client that makes only the writes nobody can do
// without: seconds, API writes a pod, CPU seconds and the highest memory of the program that does it, CPU seconds of the API server. It prints one
// table and writes it as JSON.
//
// usage: go run ./hack/bench/cloneset [--pods N] [--rest N] [--out FILE]
package main
