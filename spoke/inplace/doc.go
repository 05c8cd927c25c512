// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inplace updates a running pod without replacing it. It decides only: Diff says whether the
// step from one revision to another can be made in place and with which Spec; Start and Advance turn
// a pod and the time into the next narrow patch; the executor sends it.
//
// The life of one in-place update, as Advance sees it:
//
//	Idle        no update recorded on the pod
//	InGrace     readiness gate closed, the change waits for the grace period    -> Restarting
//	Restarting  a batch of containers was patched; kubelet restarts them        -> NextBatch, Done
//	NextBatch   the batch is done and its containers are ready; patch the next  -> Restarting
//	Done        every container runs what the pod says; gate may open
//	Broken      the annotations cannot be read; nothing is done until they can
//
// Order of writes: the gate condition False first, then pod spec and state annotation in one patch,
// then True, and that only against the very version of the pod whose completion was checked. Only
// the condition InPlaceUpdateReady is ever written, never Ready, which is kubelet's.
package inplace
