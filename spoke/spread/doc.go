// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spread decides about WorkloadSpreads: which subset a new pod goes to (Admit, AdmitOrdinal), what its books say
// after a pod is let in, let go (Release) or seen (Settle), which pods a workload should delete first (Costs), and which
// pods should be made anew elsewhere (Settle, with Critical). It is pure: time and nodes come in, and what is decided
// carries its reason.
//
// The books are the entries of status.versionedSubsetStatuses. For each version of the pods and each subset
//
//	missing = quota - active pods - pods let in and not yet seen + active pods that are let go
//
// and never below 0; -1 means that the subset takes any number. Admission takes one off before a pod exists and
// writes the pod's name beside it, so a crash between the two leaves a place taken, never one too many: Settle frees it
// when the pod was not seen for 30 seconds. A deletion frees a place for 15 seconds; a pod that still lives then has
// its place back.
//
// Pods that no subset took, or whose subset is gone, are in the subset named Outside.
package spread
