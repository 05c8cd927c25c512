// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DaemonSetSpec is what an Advanced DaemonSet should be.
type DaemonSetSpec struct {
	// selector matches the pods of this set. Immutable; must match the template's labels.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {})",message="cannot be changed: make another DaemonSet"
	Selector *metav1.LabelSelector `json:"selector"`
	// template of the pods; every node that fits it gets one. Stored as it is sent, without defaults.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`
	// updateStrategy says how pods get a new template.
	// +optional
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// minReadySeconds is how long a pod is ready before it counts as available. Seconds, default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// burstReplicas caps the pods created, and the pods deleted, in one pass. Percent of the nodes that
	// should run a pod, rounded down. Default 250.
	// +optional
	BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty"`
	// revisionHistoryLimit is how many superseded revisions are kept. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// lifecycle hooks: preDelete only. inPlaceUpdate is refused, preNormal has no effect.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// scaleStrategy tunes how pods are added.
	// +optional
	ScaleStrategy *DaemonSetScaleStrategy `json:"scaleStrategy,omitempty"`
}

// DaemonSetScaleStrategy tunes how pods are added.
type DaemonSetScaleStrategy struct {
	// partitionedScaling lets rollingUpdate.partition hold back the creation of pods as well: no more
	// nodes get a first pod than the partition lets be updated. Default false.
	// +optional
	PartitionedScaling bool `json:"partitionedScaling,omitempty"`
}

// DaemonSetUpdateStrategyType says when the pods of a DaemonSet get a new revision.
type DaemonSetUpdateStrategyType string

const (
	// OnDeleteDaemonSetStrategyType gives the new revision only to pods somebody deleted.
	OnDeleteDaemonSetStrategyType DaemonSetUpdateStrategyType = "OnDelete"
	// RollingUpdateDaemonSetStrategyType updates pods by itself, within the given budget.
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate"
)

// DaemonSetUpdateStrategy says how pods get a new template.
type DaemonSetUpdateStrategy struct {
	// type is RollingUpdate (default) or OnDelete.
	// +optional
	Type DaemonSetUpdateStrategyType `json:"type,omitempty"`
	// rollingUpdate tunes type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty"`
}

// RollingUpdateType says how a pod of a DaemonSet gets a new revision.
type RollingUpdateType string

const (
	// StandardRollingUpdateType deletes the pod and creates a new one, or the other way round with surge.
	StandardRollingUpdateType RollingUpdateType = "Standard"
	// InplaceRollingUpdateType updates in place, or recreates where that cannot be.
	InplaceRollingUpdateType RollingUpdateType = "InPlaceIfPossible"
)

// RollingUpdateDaemonSet tunes a rolling update.
type RollingUpdateDaemonSet struct {
	// rollingUpdateType is Standard (default) or InPlaceIfPossible.
	// +optional
	Type RollingUpdateType `json:"rollingUpdateType,omitempty"`
	// maxUnavailable is how many nodes may be without an available pod during the update. Percent of the
	// nodes that should run one, rounded up, at most 100%. Default 1, unless maxSurge is set; then 0.
	// Zero only together with a maxSurge above zero, and not above zero together with it.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// maxSurge is how many nodes may have a second pod during the update: the new pod is available
	// before the old one goes. Percent of the nodes that should run one, rounded up, at most 100%.
	// Default 0; zero with type InPlaceIfPossible.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// selector selects the nodes whose pods may be updated. Unset means all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// partition is how many nodes keep the old revision. Percent of the nodes that should run a pod,
	// rounded down. Default 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`
	// paused stops updates. Default false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
}

// DaemonSetStatus is what was seen of an Advanced DaemonSet. All numbers count nodes.
type DaemonSetStatus struct {
	// currentNumberScheduled counts nodes that should run a pod and have at least one.
	// +optional
	CurrentNumberScheduled int32 `json:"currentNumberScheduled"`
	// numberMisscheduled counts nodes that should run no pod and have one.
	// +optional
	NumberMisscheduled int32 `json:"numberMisscheduled"`
	// desiredNumberScheduled counts nodes that should run a pod.
	// +optional
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`
	// numberReady counts nodes that should run a pod and have a ready one.
	// +optional
	NumberReady int32 `json:"numberReady"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// updatedNumberScheduled counts nodes whose pod is of the newest revision.
	// +optional
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled"`
	// numberAvailable counts nodes whose pod is available.
	// +optional
	NumberAvailable int32 `json:"numberAvailable,omitempty"`
	// numberUnavailable counts nodes that should run a pod and have no available one.
	// +optional
	NumberUnavailable int32 `json:"numberUnavailable,omitempty"`
	// collisionCount counts hash collisions of revision names.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// conditions of the set.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// updateRevision is the short hash of the newest revision.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=daemon;ads,categories=fleet
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desiredNumberScheduled"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.currentNumberScheduled"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.numberReady"
// +kubebuilder:printcolumn:name="UP-TO-DATE",type="integer",JSONPath=".status.updatedNumberScheduled"
// +kubebuilder:printcolumn:name="AVAILABLE",type="integer",JSONPath=".status.numberAvailable"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image"

// DaemonSet runs one pod on every node that fits, and updates them node by node.
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DaemonSetSpec   `json:"spec,omitempty"`
	Status DaemonSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// DaemonSetList is a list of DaemonSets.
type DaemonSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DaemonSet `json:"items"`
}
