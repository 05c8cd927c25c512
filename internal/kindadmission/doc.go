// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kindadmission is the one table of how objects of the kinds of apps, policy and rollouts are filled in
// and checked when they are written: the hub and the spokes serve it alike. Every kind is in it, also those
// that no controller acts on yet. The markers beside the table are of both components' webhook configurations.
//
// Where a rule needs to know more than the object, Facts reads it. What only the cluster that runs the pods
// knows, a Member says; the hub has none, and lets in what a member may refuse later: containers to recreate in
// a pod that is not there, a patch that does not fit the pods of its workload, a revision of a SidecarSet, the
// source of a reload sidecar, content of a ConfigMapSet for which there is no room beside what pods use, a resource
// to distribute that its API server does not take.
//
// Not looked at so far:
//
//   - ImagePullJobs sent as v1alpha1 get no finalizer: nobody would take it off again.
//   - Deletions: no webhook is asked about them.
package kindadmission
