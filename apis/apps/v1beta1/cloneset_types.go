// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// CloneSetUpdateStrategyType says when the pods of a CloneSet get a new revision.
type CloneSetUpdateStrategyType string

const (
	// CloneSetRollingUpdateStrategyType updates pods by itself, within the given budget.
	CloneSetRollingUpdateStrategyType CloneSetUpdateStrategyType = "RollingUpdate"
	// CloneSetOnDeleteUpdateStrategyType gives the new revision only to pods somebody deleted.
	CloneSetOnDeleteUpdateStrategyType CloneSetUpdateStrategyType = "OnDelete"

	// DefaultCloneSetMaxUnavailable is the default of rollingUpdate.maxUnavailable.
	DefaultCloneSetMaxUnavailable = "20%"
)

// CloneSetSpec is what a CloneSet should be.
type CloneSetSpec struct {
	// replicas is the number of pods wanted. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// selector matches the pods of this set. Immutable; must match the template's labels.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {})",message="cannot be changed: make another CloneSet"
	Selector *metav1.LabelSelector `json:"selector"`
	// template of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`
	// volumeClaimTemplates: one claim of each per pod.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	// scaleStrategy tunes how pods are added and removed.
	// +optional
	ScaleStrategy CloneSetScaleStrategy `json:"scaleStrategy,omitempty"`
	// updateStrategy says how pods get a new template.
	// +optional
	UpdateStrategy CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many superseded revisions are kept. Default 10.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// minReadySeconds is how long a pod is ready before it counts as available. Seconds, default 0.
	// +optional
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// lifecycle hooks.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// progressDeadlineSeconds is how long a rollout may stand still before condition Progressing
	// turns False. Seconds; unset or 2147483647 means no such condition.
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// CloneSetScaleStrategy tunes how pods are added and removed.
type CloneSetScaleStrategy struct {
	// podsToDelete are names of pods to delete first. The controller trims names that are gone.
	// +optional
	PodsToDelete []string `json:"podsToDelete,omitempty"`
	// maxUnavailable caps unavailable pods while pods are created. Percent of replicas, rounded
	// up; unset means no cap.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// enablePVCReuse keeps the claims of vanished pods for their successors. Default false.
	// +optional
	// +kubebuilder:default=false
	EnablePVCReuse bool `json:"enablePVCReuse,omitempty"`
	// excludePreparingDelete leaves pods that wait for their preDelete hook out of the count.
	// +optional
	ExcludePreparingDelete bool `json:"excludePreparingDelete,omitempty"`
}

// CloneSetUpdateStrategy says how pods get a new template.
type CloneSetUpdateStrategy struct {
	// type is RollingUpdate (default) or OnDelete.
	// +optional
	Type CloneSetUpdateStrategyType `json:"type,omitempty"`
	// rollingUpdate tunes type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdateCloneSetStrategy `json:"rollingUpdate,omitempty"`
}

// RollingUpdateCloneSetStrategy tunes a rolling update.
type RollingUpdateCloneSetStrategy struct {
	// partition is how many pods stay at the current revision. Percent of replicas rounded up,
	// but below 100% at least one pod is updated. Default 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`
	// maxUnavailable is how many pods may be unavailable during the update. Default 20%; percent
	// rounded up when maxSurge is 0, else down.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// maxSurge is how many pods may exist above replicas during the update. Percent rounded up,
	// default 0, counted as 0 while paused.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// podUpdatePolicy is ReCreate (default), InPlaceIfPossible or InPlaceOnly.
	// +optional
	PodUpdatePolicy PodUpdateStrategyType `json:"podUpdatePolicy,omitempty"`
	// paused stops updates, not scaling. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// priorityStrategy orders the pods to update.
	// +optional
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
	// scatterStrategy spreads labelled pods over the update order.
	// +optional
	ScatterStrategy UpdateScatterStrategy `json:"scatterStrategy,omitempty"`
	// inPlaceUpdateStrategy tunes in-place updates.
	// +optional
	InPlaceUpdateStrategy *InPlaceUpdateStrategy `json:"inPlaceUpdateStrategy,omitempty"`
}

// Condition types of a CloneSet.
const (
	// CloneSetConditionFailedScale is True while the last attempt to scale failed.
	CloneSetConditionFailedScale = "FailedScale"
	// CloneSetConditionFailedUpdate is True while the last attempt to update failed.
	CloneSetConditionFailedUpdate = "FailedUpdate"
	// CloneSetConditionProgressing says whether the rollout moves within progressDeadlineSeconds.
	CloneSetConditionProgressing = "Progressing"
	// CloneSetConditionWaiting is True while something keeps the set from being as asked: reason and
	// message say what, and which pods. It is absent when nothing is waited for.
	CloneSetConditionWaiting = "Waiting"
	// CloneSetConditionPartitionReached is True, since lastTransitionTime, when as many pods were updated and
	// available as the partition allows. It stays, whatever becomes of single pods, until partition or revision
	// change or no pod is kept at the old revision any more; then it is absent.
	CloneSetConditionPartitionReached = "PartitionReached"
)

// Reasons of condition Progressing.
const (
	// CloneSetProgressUpdated: the rollout moves on.
	CloneSetProgressUpdated = "CloneSetUpdated"
	// CloneSetProgressPaused: spec says paused.
	CloneSetProgressPaused = "CloneSetPaused"
	// CloneSetProgressPartitionAvailable: every pod that the partition allows is updated and available.
	CloneSetProgressPartitionAvailable = "ProgressPartitionAvailable"
	// CloneSetProgressDeadlineExceeded: nothing moved for progressDeadlineSeconds.
	CloneSetProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// CloneSetAvailable: every pod is updated and available.
	CloneSetAvailable = "CloneSetAvailable"
)

// CloneSetStatus is what was seen of a CloneSet.
type CloneSetStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// replicas counts the active pods.
	// +optional
	Replicas int32 `json:"replicas"`
	// readyReplicas counts the ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// availableReplicas counts pods ready for minReadySeconds with no lifecycle step under way.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// updatedReplicas counts pods of the update revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// updatedReadyReplicas counts ready pods of the update revision.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`
	// updatedAvailableReplicas counts available pods of the update revision.
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas,omitempty"`
	// expectedUpdatedReplicas is how many pods the partition lets be updated.
	// +optional
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty"`
	// updateRevision is the name of the newest revision.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// currentRevision is the name of the last revision that was rolled out in full.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`
	// collisionCount counts hash collisions of revision names.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// conditions of the set.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// labelSelector is the selector as a string, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=clone,categories=fleet
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas"
// +kubebuilder:printcolumn:name="UPDATED_READY",type="integer",JSONPath=".status.updatedReadyReplicas"
// +kubebuilder:printcolumn:name="UPDATED_AVAILABLE",type="integer",JSONPath=".status.updatedAvailableReplicas"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image"
// +kubebuilder:printcolumn:name="SELECTOR",type="string",priority=1,JSONPath=".status.labelSelector"

// CloneSet runs a number of equal pods with random names and updates them in place or by
// recreation.
type CloneSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CloneSetSpec   `json:"spec,omitempty"`
	Status CloneSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// CloneSetList is a list of CloneSets.
type CloneSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CloneSet `json:"items"`
}
