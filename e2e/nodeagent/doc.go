// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeagent tests real nodes: what containerd and the kubelet make of it.
package nodeagent
