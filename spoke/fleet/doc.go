// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the member's half of federation: it pulls this cluster's FleetSlices from the hub,
// applies them, and reports.
//
// It promises:
//   - objects are written by server-side apply under three owners: fleet-template the object,
//     fleet-split the replica numbers, fleet-rollout the partitions; only a set that changed is sent,
//     and at rest nothing is;
//   - a subset never stands without its node selector, a template is never in force with partitions
//     lower than those it came with, and an object is never created with a default number (sequence);
//   - an object that is there and not ours is left alone unless the slice's adoption policy lets us
//     have it; condition Applied then says Conflict, the object and the fields that differ;
//   - nothing is deleted but on the word of a slice that is being deleted or no longer lists the
//     object, and never on the word of an epoch lower than the highest seen, which is kept in this
//     cluster. Objects whose slice is gone without a word are deleted only when a complete list, read
//     from the hub, is of an epoch above theirs throughout and has been so for a while (sweep);
//   - a kind that this cluster does not know, or that the spoke has no right to, holds up no slice but
//     those that list it: condition Applied says Rejected;
//   - without the hub everything goes on: nothing changes, nothing is deleted, connecting is tried
//     for ever with growing waits, and the rest of the spoke does not notice;
//   - status is written at most once a second for each slice, and only when it differs.
//
// The hub is asked for nothing but FleetSlices, their status and finalizers, and one Lease, all in the
// namespace that bears this cluster's name.
//
// A member object, as a slice sees it:
//
//	there  label           slice            then
//	no     –               lives            create, with all numbers; then give the numbers to their owners
//	yes    this slice's    lives            apply what changed
//	yes    none            lives            adopt or Conflict, as the policy says
//	yes    another's       lives            Conflict while that slice is on the hub, else as without label
//	yes    this slice's    being deleted    Cascade: delete; Orphan: take label, annotations and field ownership off
//	yes    any other       being deleted    leave alone
//	no     –               being deleted    take the finalizer off the slice
//	yes    this slice's    lists it no more as when being deleted, by the slice's deletion policy
package fleet
