// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resourcedistribution copies a Secret or a ConfigMap into namespaces, and keeps the copies as they should be.
//
// It promises:
//   - A copy costs one write when it is made, one when its content was changed by another hand, and none at rest.
//   - An object that it did not make is never touched. Its namespace is named in condition ConflictOccurred, and it is
//     looked at again every 30 seconds: when it is gone the copy is made.
//   - A copy goes away with the namespace's place among the targets, if it is of this very ResourceDistribution.
//   - What is in Secrets is not kept in memory, logged or told: the cache holds a digest of each copy's content, and of
//     refusals, which may quote it, only the kind is told.
//   - What has a copy that is watched costs no request: a pass asks the API server about namespaces without one alone.
//   - A namespace that fails holds up no other, and is tried again.
//   - The rights to Secrets and ConfigMaps are granted by hand (kustomize/distribution). Until then condition
//     GetResourceFailed says so.
//
// What a pass does in a namespace:
//
//	target  namespace            object of that name        then
//	yes     missing, going       any                        wait: NamespaceNotExists
//	yes     there                none                       create
//	yes     there                ours, as it should be      nothing
//	yes     there                ours, differs or unmarked  update
//	yes     there                another's                  leave it: ConflictOccurred
//	no      there                ours                       delete
//	no      any                  none, or another's         nothing
//
// Copies carry label flotilla.sh/distributed, by which they alone are watched. Those that OpenKruise made have none yet:
// the first pass after a start, and after each change of the spec, asks the API server for them with one request for
// metadata, and each gets the label with one write.
//
// Where this departs from OpenKruise: labels and annotations of the resource reach copies that are there, since the
// hash of the resource says that they changed; spec.resource may have stringData; desired falls when a namespace goes;
// an event tells when a condition becomes True, or for other namespaces.
package resourcedistribution
