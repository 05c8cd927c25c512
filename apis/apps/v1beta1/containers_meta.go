// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// RuntimeContainerMetaKey is the annotation of a pod under which the agent of its node reports what runs in
// the pod. Written by the node agent alone, through the pod's status; read by whoever updates the pod in
// place. Its value is a RuntimeContainerMetaSet as JSON.
const RuntimeContainerMetaKey = "apps.kruise.io/runtime-containers-meta"

// RuntimeContainerMetaSet is the value of RuntimeContainerMetaKey.
type RuntimeContainerMetaSet struct {
	// Containers has one entry for each container of the pod that has an ID, in the order of
	// status.containerStatuses. A container which has not been created yet is absent.
	Containers []RuntimeContainerMeta `json:"containers"`
}

// RuntimeContainerMeta is what is known of one instance of a container.
type RuntimeContainerMeta struct {
	// Name is the container's name in the pod.
	Name string `json:"name"`
	// ContainerID is written as in the pod's status: runtime://id. It names the instance that the rest of
	// the entry speaks of.
	ContainerID string `json:"containerID"`
	// RestartCount is the restart count that the pod's status gave for this instance.
	RestartCount int32 `json:"restartCount"`
	// Hashes tell from which spec and which metadata this instance was made.
	Hashes RuntimeContainerHashes `json:"hashes"`
}

// RuntimeContainerHashes are the hashes of one instance of a container; 0 means not known.
type RuntimeContainerHashes struct {
	// PlainHash is the kubelet's hash of the container's spec at the moment it made this instance.
	PlainHash uint64 `json:"plainHash"`
	// ExtractedEnvFromMetadataHash is the hash of those environment variables of the running process which
	// come from labels and annotations of the pod; see package internal/containerhash for the function.
	ExtractedEnvFromMetadataHash uint64 `json:"extractedEnvFromMetadataHash"`
}
