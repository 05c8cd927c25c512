// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podset turns what was seen of one workload's pods, and the workload's rules, into a plan:
// which pods to create, delete and change, and what is waited for, each with its reason. It is pure:
// no client and no clock inside, so that whole rollouts can be simulated.
//
// One pass plans, in this order:
//
//  1. scale: Members says who should exist; removals go through the preDelete hook;
//  2. refresh: every pod's in-place update and lifecycle state move on by one step;
//  3. update: only when scaling moved nothing, Members says which pods move to another revision,
//     and each is started in place, deleted to be recreated, or marked for that where its replacement
//     comes first or a hook holds it.
//
// Refreshing never takes a pod away, so it may share a pass with the others; scaling and starting
// updates never do, because both spend the same unavailability budget.
//
// What differs between kinds is Members: who should exist and who moves next. Replicas is that of
// anonymous pods (CloneSet); hack/designs/0001-engines.md says how the other kinds do it.
package podset
