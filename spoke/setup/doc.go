// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup is the spoke's wiring table: every controller, webhook, converter, index and gate is
// named here and nowhere else.
//
// Every kind is defaulted and validated at admission (admit_*.go), also those that no controller acts on yet.
// Where a rule needs to know more than the object, facts.go reads it. Not looked at so far:
//
//   - ConfigMapSets: the ConfigMap that a reload sidecar of type custom comes from, which is in any namespace;
//     the revisions that pods still use; label policy.kruise.io/delete-protection. What may be in conflict, and
//     is let in, is not warned of.
//   - ResourceDistributions: whether the API server would take the resource.
//   - ImagePullJobs sent as v1alpha1 get no finalizer: nobody would take it off again.
//   - Gates that refuse a kind while they are off, as OpenKruise has them (ImagePullJobGate,
//     ResourceDistributionGate, WorkloadSpread, PodProbeMarkerGate, KruiseDaemon): every kind is let in.
//   - Deletions: no webhook is asked about them.
package setup
