// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletionprotection refuses deletions of objects that bear label policy.kruise.io/delete-protection:
//
//	kind                                              Always   Cascading: refused while there is
//	Namespace                                         refused  an active pod, or a bound claim that is not being deleted
//	CustomResourceDefinition                          refused  an object of the kind that is not being deleted; or
//	                                                           DeletionProtectionForCRDCascadingGate is off
//	Deployment, ReplicaSet, StatefulSet of apps       refused  more than no replica asked for
//	CloneSet, StatefulSet, UnitedDeployment of ours   refused  more than no replica asked for
//	Service, Ingress                                  refused  never
//
// Other values, objects that are being deleted already, and deletions of subresources pass. What cannot be looked up
// is refused: it might be there. Refusals are 403, begin with "forbidden by ResourcesProtectionDeletion", and say the
// label and what is there. A dry run is answered the same, and not counted.
//
// Everything is read from the API server, at each question, a page at a time and only until something is found: a
// cache may be behind, and whoever deletes a namespace does not come back.
//
// It differs from OpenKruise in when the API server asks. There all deletions of its own kinds are sent to its
// webhook, and fail while that is away. Here deletions of our kinds have entries of their own, which like those of
// built-in kinds are for labelled objects alone: what bears no label is deleted whether the spoke runs or not. What
// bears it cannot be deleted while the spoke is away. Nobody is asked about objects in kube-system and in the
// namespace of the spoke, nor about these themselves. While gate ResourcesDeletionProtection is off all entries are
// gone, where OpenKruise keeps some and lets pass. Versions that do not know more than the label, as networking.k8s.io/v1beta1, are
// protected as well.
package deletionprotection
