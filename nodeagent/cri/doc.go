// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cri is the node agent's way to the container runtime. It alone knows the runtime's protocol: the
// rest of the agent sees the types of this package.
//
// It promises:
//   - A runtime that is missing, too old, hung or restarting is a state, never the end of the process. The
//     state has a reason that a user can act on and is to be seen in Status, in the metrics and through
//     Subscribe.
//   - The runtime spoken to is the one the kubelet uses: named by the user, or the one among the answering
//     sockets that bears the name the kubelet reported for its node.
//   - Every call ends: with the caller's context or after a bound of its own.
//   - What containers write does not fill the agent's memory: more output of a command than is asked for is not read.
//
// States of a Connector (State):
//
//	Searching  no runtime has been found yet   -> Up when one answers
//	Up         the runtime answers             -> Lost when its connection breaks or it stops answering
//	Lost       it answered once                -> Up when one answers again
//
// Searching and Lost look for sockets anew with a growing pause (0.2 s to 5 s; none when a connection has held for 5 s), so a socket that appears later
// or somewhere else is found, and a runtime that is back is in use again within 10 s.
package cri
