// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StatefulSetSpec is what an Advanced StatefulSet should be.
type StatefulSetSpec struct {
	// replicas is the number of pods wanted. Default 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// selector matches the pods of this set. Immutable.
	Selector *metav1.LabelSelector `json:"selector"`
	// template of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`
	// volumeClaimTemplates: one claim of each per ordinal.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	// volumeClaimUpdateStrategy says when existing claims follow a changed claim template.
	// +optional
	VolumeClaimUpdateStrategy VolumeClaimUpdateStrategy `json:"volumeClaimUpdateStrategy,omitempty"`
	// serviceName is the headless service of the set. Immutable.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// podManagementPolicy is OrderedReady (default) or Parallel. Immutable.
	// +optional
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy,omitempty"`
	// updateStrategy says how pods get a new template.
	// +optional
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many superseded revisions are kept. Default 10.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// reserveOrdinals are ordinals, or ranges "a-b", that no pod may have.
	// +optional
	ReserveOrdinals []intstr.IntOrString `json:"reserveOrdinals,omitempty"`
	// lifecycle hooks.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// scaleStrategy tunes how pods are added.
	// +optional
	ScaleStrategy *StatefulSetScaleStrategy `json:"scaleStrategy,omitempty"`
	// persistentVolumeClaimRetentionPolicy says what becomes of claims. Default Retain.
	// +optional
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	// ordinals sets the first ordinal.
	// +optional
	Ordinals *StatefulSetOrdinals `json:"ordinals,omitempty"`
}

// VolumeClaimUpdateStrategyType says when claims follow a changed claim template.
type VolumeClaimUpdateStrategyType string

const (
	// OnPodRollingUpdateVolumeClaimUpdateStrategyType changes claims together with their pods.
	OnPodRollingUpdateVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnPodRollingUpdate"
	// OnPVCDeleteVolumeClaimUpdateStrategyType changes a claim only once somebody deleted it.
	OnPVCDeleteVolumeClaimUpdateStrategyType VolumeClaimUpdateStrategyType = "OnDelete"
)

// VolumeClaimUpdateStrategy says when claims follow a changed claim template.
type VolumeClaimUpdateStrategy struct {
	// type is OnDelete (default) or OnPodRollingUpdate.
	// +optional
	Type VolumeClaimUpdateStrategyType `json:"type,omitempty"`
}

// StatefulSetUpdateStrategy says how pods get a new template.
type StatefulSetUpdateStrategy struct {
	// type is RollingUpdate (default) or OnDelete.
	// +optional
	Type appsv1.StatefulSetUpdateStrategyType `json:"type,omitempty"`
	// rollingUpdate tunes type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdateStatefulSetStrategy `json:"rollingUpdate,omitempty"`
}

// RollingUpdateStatefulSetStrategy tunes a rolling update.
type RollingUpdateStatefulSetStrategy struct {
	// partition is how many pods stay at the current revision. Default 0.
	// +optional
	Partition *int32 `json:"partition,omitempty"`
	// maxUnavailable is how many pods may be unavailable. Percent rounded down, at least 1. Default 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// podUpdatePolicy is ReCreate (default), InPlaceIfPossible or InPlaceOnly.
	// +optional
	PodUpdatePolicy PodUpdateStrategyType `json:"podUpdatePolicy,omitempty"`
	// paused stops updates, not scaling. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// unorderedUpdate orders pods by priority instead of by ordinal.
	// +optional
	UnorderedUpdate *UnorderedUpdateStrategy `json:"unorderedUpdate,omitempty"`
	// inPlaceUpdateStrategy tunes in-place updates.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
	// minReadySeconds is how long a pod is ready before it counts as available. 0 to 300, default 0.
	// +optional
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// UnorderedUpdateStrategy orders pods by priority instead of by ordinal.
type UnorderedUpdateStrategy struct {
	// priorityStrategy orders the pods to update.
	// +optional
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
}

// StatefulSetScaleStrategy tunes how pods are added.
type StatefulSetScaleStrategy struct {
	// maxUnavailable caps unavailable pods while pods are created. Percent rounded down, at least 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// PersistentVolumeClaimRetentionPolicyType is Retain or Delete.
type PersistentVolumeClaimRetentionPolicyType string

const (
	// RetainPersistentVolumeClaimRetentionPolicyType keeps claims.
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
	// DeletePersistentVolumeClaimRetentionPolicyType deletes claims.
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
)

// StatefulSetPersistentVolumeClaimRetentionPolicy says what becomes of claims.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	// whenDeleted applies when the set is deleted. Default Retain.
	// +optional
	WhenDeleted PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty"`
	// whenScaled applies when the set is scaled in. Default Retain.
	// +optional
	WhenScaled PersistentVolumeClaimRetentionPolicyType `json:"whenScaled,omitempty"`
}

// StatefulSetOrdinals sets the first ordinal.
type StatefulSetOrdinals struct {
	// start is the first ordinal. Default 0.
	// +optional
	Start int32 `json:"start,omitempty"`
}
