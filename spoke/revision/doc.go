// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revision keeps the history of a workload's pod template in ControllerRevisions, in the
// format OpenKruise 1.9 writes: taking a cluster over mints no revision and starts no rollout.
//
// The payload is the JSON {"spec":{"template":{…,"$patch":"replace"}}} with sorted keys; metadata in
// it always carries "creationTimestamp":null, which newer Kubernetes libraries leave out. Names are
// <workload>-<hash>, where hash is the safe-encoded FNV-1 hash of payload and collision count, as
// Kubernetes' own controller history makes it. Revisions are equal when their payloads mean the
// same, whatever the bytes. Kind by kind:
//
//	kind         payload            hash          in the revision's label         in the pods' label
//	CloneSet     Payload            Hash          controller.kubernetes.io/hash   controller-revision-hash: the name, or the short hash
//	StatefulSet  Payload            Hash          controller.kubernetes.io/hash   controller-revision-hash: the name
//	DaemonSet    Payload            TemplateHash  controller-revision-hash        controller-revision-hash: the short hash
//	SidecarSet   SidecarSetPayload  Hash          controller.kubernetes.io/hash   none: pods carry SidecarSetHashes in an annotation
//
// The history of a UnitedDeployment holds all of spec.template, by PayloadOf. Claim templates are in no
// payload: to change one makes no revision.
//
// Sync and Truncate decide and do no I/O; Store reads and writes.
package revision
