// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup puts the node agent together: flags, the manager with a cache of this node's objects alone,
// the connection to the container runtime, health, metrics, and the table of duties.
//
// It promises that the agent watches nothing but the pods of its own node and the objects by which the spoke asks
// it for something, holds of pods only what its duties read, and needs no more rights than the markers beside the
// code ask for.
//
// Health: /healthz is well as long as the process serves, since a restart mends no missing runtime; /readyz is
// well when the pods of the node are known and the runtime answers, else it says why not. Both are served on
// the address of the metrics, and on one of their own when asked for. A runtime that is away for long is told by an
// event on the node and by condition flotilla.sh/ContainerRuntimeUsable of the agent's own pod, which is written when
// it changes and at no other time.
package setup
