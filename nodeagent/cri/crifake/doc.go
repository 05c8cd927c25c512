// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crifake is a container runtime in memory that serves CRI v1 over a unix socket, for tests of the
// node agent.
//
// It promises to answer as containerd does in what the agent relies on: NotFound for an unknown ID, a new ID
// for every instance, the kubelet's labels and annotations kept as given. Its containers live on when the
// server stops and is served again, as they do when a real runtime restarts.
package crifake
