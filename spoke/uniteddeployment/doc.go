// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uniteddeployment runs UnitedDeployments: one workload per subset, sized by
// internal/allocate and bound to its domain.
//
// It promises:
//   - one pass brings every subset to the spec, and a pass that is cut off at any point is completed
//     by the next: a subset's workload has a name that follows from the UnitedDeployment's uid and the
//     subset, so it is not made twice;
//   - a workload is written only when its revision, replicas, partition, patch, or the affinity and
//     tolerations of its pods differ from what they should be; at rest nothing is written;
//   - an update sends the fields the template sets, owned by spoke-uniteddeployment; fields that
//     others own stay, fields that left the template go;
//   - of two workloads of one subset the one that is not being deleted, then has more ready pods,
//     then is older, stays;
//   - what goes wrong is in conditions SubsetProvisioned and SubsetUpdated with a message, and is
//     tried again; one subset's failure does not hold up the others.
//
// What a pass does with a subset:
//
//	in spec  workloads        template kind   then
//	yes      none             as asked        create
//	yes      one              as asked        update when it differs, else nothing
//	yes      several          as asked        delete all but the best one
//	no       any              as asked        delete
//	any      any              another kind    delete
//	any      being deleted    any             wait until it is gone
//
// Templates of kind CloneSet, Deployment, StatefulSet and Advanced StatefulSet are served, if the API server knows the
// kind when the controller starts; else condition SubsetProvisioned says TemplateNotSupported. Of a StatefulSet that was given a new template, pods which are
// not ready, of an older revision and beyond the partition are deleted: its controller would wait for them (stuckPods).
//
// With schedule type Adaptive a subset whose pods find no node in time keeps what is ready and its minimum, and the
// others get the rest; after a while it is tried again (judge). With reserveUnschedulablePods such pods stay where they
// are, in reserve, and the others get as many more until those are ready: next has the table of a pod's standing, which
// label united-deployment-reserved-pod tells (judgeReserve). A subset that came later, or grows again after it was
// unschedulable, is marked: its new pods begin in reserve. An update of a subset with pods in reserve is given the
// maxUnavailable that gets past them, and the template's when it is done (budget). Pods are labelled before workloads are
// sized; one that cannot be ends the pass. The changes of pods that matter are watched and gathered for podDelay, so that
// a pod which finds no node is seen at once, and a burst costs one pass.
//
// Where this departs from OpenKruise: status is written on failed passes too; fixed replicas that
// add up to more than spec.replicas are served in list order instead of refused; revisions are
// found by owner, so those of CloneSet templates are trimmed and currentRevision lags during a
// rollout; subsetStatuses of subsets no longer in the spec stay listed with their numbers at zero;
// in reserve are neither pods that are being deleted, nor those a partition keeps at an older revision, nor ready ones that
// wait for their turn in an update nothing holds up; a subset that is added to others takes over from them only as its pods
// get ready; orphans are adopted only when they carry a subset's name; observedGeneration moves only when the
// pass had no error.
package uniteddeployment
