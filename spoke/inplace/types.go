// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Spec is a change that can be made in place. Its JSON is the content of the grace annotation.
type Spec struct {
	// Revision is the hash label's value after the change.
	Revision string `json:"revision"`
	// ContainerImages by container name.
	ContainerImages map[string]string `json:"containerImages,omitempty"`
	// ContainerRefMetadata are the labels and annotations, by container, that its env refers to.
	ContainerRefMetadata map[string]metav1.ObjectMeta `json:"containerRefMetadata,omitempty"`
	// ContainerResources by container name.
	ContainerResources map[string]corev1.ResourceRequirements `json:"containerResources,omitempty"`
	// MetaDataPatch is a strategic-merge patch of the pod's remaining metadata.
	MetaDataPatch []byte `json:"metaDataPatch,omitempty"`
	// UpdateEnvFromMetadata says that ContainerRefMetadata is not empty.
	UpdateEnvFromMetadata bool `json:"updateEnvFromMetadata,omitempty"`
	// GraceSeconds between closing the gate and changing containers.
	GraceSeconds int32 `json:"graceSeconds,omitempty"`

	// OldTemplate and NewTemplate may be there in annotations written by others; not used.
	OldTemplate *corev1.PodTemplateSpec `json:"oldTemplate,omitempty"`
	// NewTemplate: see OldTemplate.
	NewTemplate *corev1.PodTemplateSpec `json:"newTemplate,omitempty"`
}

// State is the progress of an in-place update. Its JSON is the content of the state annotation.
type State struct {
	Revision              string                       `json:"revision"`
	UpdateTimestamp       metav1.Time                  `json:"updateTimestamp"`
	LastContainerStatuses map[string]ContainerStatus   `json:"lastContainerStatuses"`
	UpdateEnvFromMetadata bool                         `json:"updateEnvFromMetadata,omitempty"`
	UpdateResources       bool                         `json:"updateResources,omitempty"`
	UpdateImages          bool                         `json:"updateImages,omitempty"`
	NextContainerImages   map[string]string            `json:"nextContainerImages,omitempty"`
	NextContainerRefMeta  map[string]metav1.ObjectMeta `json:"nextContainerRefMetadata,omitempty"`
	// NextContainerResources are there until the update is done: they are written before they are asked for.
	NextContainerResources map[string]corev1.ResourceRequirements `json:"nextContainerResources,omitempty"`
	PreCheckBeforeNext     *PreCheck                              `json:"preCheckBeforeNext,omitempty"`
	ContainerBatchesRecord []Batch                                `json:"containerBatchesRecord,omitempty"`
}

// ContainerStatus is what a container ran before it was changed.
type ContainerStatus struct {
	ImageID string `json:"imageID,omitempty"`
	// ContainerID is the container that ran at Since, when the change was written. Others do not know the fields below
	// and need not keep them.
	ContainerID string       `json:"containerID,omitempty"`
	Since       *metav1.Time `json:"since,omitempty"`
	// OfSpec: the node agent knew the container as made of the pod's spec as it was, so that it must go now.
	OfSpec bool `json:"ofSpec,omitempty"`
	// Images are what the pod's spec had before, where ImageID may not be the last to be seen of them: the container had
	// not started yet, or an update before this one was not through.
	Images []string `json:"images,omitempty"`
}

// PreCheck is what must hold before the next batch.
type PreCheck struct {
	ContainersRequiredReady []string `json:"containersRequiredReady,omitempty"`
}

// Batch records which containers were changed when.
type Batch struct {
	Timestamp  metav1.Time `json:"timestamp"`
	Containers []string    `json:"containers"`
}

// hasNext says whether something is left to change on the pod.
func (s *State) hasNext(pod *corev1.Pod) bool {
	return len(s.NextContainerImages)+len(s.NextContainerRefMeta)+len(missingResources(pod, s.NextContainerResources)) > 0
}

// next turns what is left on the pod into the Spec of the remaining batches.
func (s *State) next(pod *corev1.Pod) Spec {
	return Spec{
		Revision: s.Revision, ContainerImages: s.NextContainerImages,
		ContainerRefMetadata: s.NextContainerRefMeta, ContainerResources: missingResources(pod, s.NextContainerResources),
		UpdateEnvFromMetadata: s.UpdateEnvFromMetadata,
	}
}

// containers returns the names of all containers the spec touches, sorted.
func (s *Spec) containers() []string {
	names := map[string]bool{}
	for name := range s.ContainerImages {
		names[name] = true
	}
	for name := range s.ContainerRefMetadata {
		names[name] = true
	}
	for name := range s.ContainerResources {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// ReadState returns the state on the pod, nil when there is none.
func ReadState(pod *corev1.Pod) (*State, error) {
	raw, ok := pods.Annotation(pod, appsv1beta1.InPlaceUpdateStateKey, appsv1beta1.InPlaceUpdateStateKeyOld)
	if !ok {
		return nil, nil
	}
	var state State
	if err := json.Unmarshal([]byte(raw), &state); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", appsv1beta1.InPlaceUpdateStateKey, err)
	}
	return &state, nil
}

// ReadGrace returns the change that waits on the pod, nil when there is none.
func ReadGrace(pod *corev1.Pod) (*Spec, error) {
	raw, ok := pods.Annotation(pod, appsv1beta1.InPlaceUpdateGraceKey, appsv1beta1.InPlaceUpdateGraceKeyOld)
	if !ok {
		return nil, nil
	}
	var spec Spec
	if err := json.Unmarshal([]byte(raw), &spec); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", appsv1beta1.InPlaceUpdateGraceKey, err)
	}
	return &spec, nil
}

// InGrace says whether a change waits on the pod for its grace period.
func InGrace(pod *corev1.Pod) bool {
	_, ok := pods.Annotation(pod, appsv1beta1.InPlaceUpdateGraceKey, appsv1beta1.InPlaceUpdateGraceKeyOld)
	return ok
}
