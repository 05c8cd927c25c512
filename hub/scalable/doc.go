// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scalable divides workloads by .spec.replicas: CloneSets, Deployments and every other kind that
// is scaled by that field. The pods of one cluster must not need to know of those in another, so kinds
// whose pods are numbered are not among them.
//
// A CloneSet's partition is divided in proportion to the shares, and its status is summed up on the hub.
// Members write to its podsToDelete, so that is not passed on: the plan has a note.
// The status of other kinds is left to whoever else writes it: the sums are in the FleetPlacement.
package scalable
