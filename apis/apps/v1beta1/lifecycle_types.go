// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// LifecycleStateType is where a pod stands in its life, as the pod label
// lifecycle.apps.kruise.io/state says. Empty means Normal.
type LifecycleStateType string

const (
	// LifecycleStatePreparingNormal is a new pod that is not yet counted as available.
	LifecycleStatePreparingNormal LifecycleStateType = "PreparingNormal"
	// LifecycleStateNormal is a pod with nothing under way.
	LifecycleStateNormal LifecycleStateType = "Normal"
	// LifecycleStatePreparingUpdate is a pod whose in-place update waits for its hook.
	LifecycleStatePreparingUpdate LifecycleStateType = "PreparingUpdate"
	// LifecycleStateUpdating is a pod whose in-place update runs.
	LifecycleStateUpdating LifecycleStateType = "Updating"
	// LifecycleStateUpdated is an updated pod that waits for its hook to come back.
	LifecycleStateUpdated LifecycleStateType = "Updated"
	// LifecycleStatePreparingDelete is a pod whose deletion waits for its hook.
	LifecycleStatePreparingDelete LifecycleStateType = "PreparingDelete"
)

// Lifecycle lists the hooks that hold a pod back at the edges of its life.
type Lifecycle struct {
	// preDelete holds back the deletion of a pod.
	// +optional
	PreDelete *LifecycleHook `json:"preDelete,omitempty"`
	// inPlaceUpdate holds back the in-place update of a pod.
	// +optional
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`
	// preNormal holds back the moment from which a new pod counts as available.
	// +optional
	PreNormal *LifecycleHook `json:"preNormal,omitempty"`
}

// LifecycleHook names the labels and finalizers by which others hold a pod.
type LifecycleHook struct {
	// labelsHandler are label keys and values; one present on the pod holds it.
	// +optional
	LabelsHandler map[string]string `json:"labelsHandler,omitempty"`
	// finalizersHandler are finalizers; one present on the pod holds it.
	// +optional
	FinalizersHandler []string `json:"finalizersHandler,omitempty"`
	// markPodNotReady makes the pod not ready while it is held. Default false.
	// Used by preDelete and inPlaceUpdate only.
	// +optional
	MarkPodNotReady bool `json:"markPodNotReady,omitempty"`
}
