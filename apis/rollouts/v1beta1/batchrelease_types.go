// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BatchReleaseSpec says which pods of a workload to update. The Rollout controller writes it; people
// normally do not.
type BatchReleaseSpec struct {
	// workloadRef is the workload, in the namespace of the object.
	// +optional
	WorkloadRef ObjectRef `json:"workloadRef,omitempty"`
	// releasePlan says how many pods in which batch.
	ReleasePlan ReleasePlan `json:"releasePlan"`
}

// ReleasePlan says how many pods are updated in which batch. The order of the fields, and which of them are
// left out when empty, is that of Kruise Rollouts: the plan's hash is made of this JSON.
type ReleasePlan struct {
	// batches in their order.
	// +optional
	Batches []ReleaseBatch `json:"batches,omitempty"`
	// batchPartition is the last batch that may be released, counted from 0. Unset ends the release: the
	// workload goes on by its own strategy.
	// +optional
	BatchPartition *int32 `json:"batchPartition,omitempty"`
	// rolloutID is the id of the release, which updated pods get as a label. Empty means no label.
	// +optional
	RolloutID string `json:"rolloutID,omitempty"`
	// failureThreshold is how many of the updated pods may be not ready. Percent rounded up. Default 0.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// finalizingPolicy is Immediate (default) or WaitResume.
	// +optional
	FinalizingPolicy FinalizingPolicyType `json:"finalizingPolicy,omitempty"`
	// patchPodTemplateMetadata is merged into the template of the extra workload, of style Canary.
	// +optional
	PatchPodTemplateMetadata *PatchPodTemplateMetadata `json:"patchPodTemplateMetadata,omitempty"`
	// rollingStyle is Partition, Canary or BlueGreen.
	// +optional
	RollingStyle RollingStyleType `json:"rollingStyle,omitempty"`
	// enableExtraWorkloadForCanary means style Canary where rollingStyle is empty.
	// +optional
	EnableExtraWorkloadForCanary bool `json:"enableExtraWorkloadForCanary"`
}

// ReleaseBatch is one batch.
type ReleaseBatch struct {
	// canaryReplicas is how many pods are updated after the batch, in all. Percent of the workload's
	// replicas, rounded up.
	CanaryReplicas intstr.IntOrString `json:"canaryReplicas"`
}

// FinalizingPolicyType says when a release has ended.
type FinalizingPolicyType string

const (
	// WaitResumeFinalizingPolicyType: when the workload has updated all pods.
	WaitResumeFinalizingPolicyType FinalizingPolicyType = "WaitResume"
	// ImmediateFinalizingPolicyType: when the workload has been told to go on. The default.
	ImmediateFinalizingPolicyType FinalizingPolicyType = "Immediate"
)

// RollingStyleType says how new pods come to be.
type RollingStyleType string

const (
	// PartitionRollingStyle: old and new pods are in one workload.
	PartitionRollingStyle RollingStyleType = "Partition"
	// CanaryRollingStyle: new pods are in a Deployment of their own.
	CanaryRollingStyle RollingStyleType = "Canary"
	// BlueGreenRollingStyle: the workload surges by all its pods.
	BlueGreenRollingStyle RollingStyleType = "BlueGreen"
	// EmptyRollingStyle: enableExtraWorkloadForCanary says.
	EmptyRollingStyle RollingStyleType = ""
)

// Phases of a BatchRelease, in this order, with RolloutPhaseProgressing after the first.
const (
	// BatchReleasePhasePreparing makes the workload ready.
	BatchReleasePhasePreparing RolloutPhase = "Preparing"
	// BatchReleasePhaseFinalizing hands the workload back.
	BatchReleasePhaseFinalizing RolloutPhase = "Finalizing"
	// BatchReleasePhaseCompleted is done.
	BatchReleasePhaseCompleted RolloutPhase = "Completed"
)

// BatchReleaseBatchStateType says how far a batch is.
type BatchReleaseBatchStateType string

const (
	// UpgradingBatchState updates pods.
	UpgradingBatchState BatchReleaseBatchStateType = "Upgrading"
	// VerifyingBatchState waits for them to be ready.
	VerifyingBatchState BatchReleaseBatchStateType = "Verifying"
	// ReadyBatchState is done.
	ReadyBatchState BatchReleaseBatchStateType = "Ready"
)

// BatchReleaseStatus is what was seen of a BatchRelease.
type BatchReleaseStatus struct {
	// conditions of the release.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`
	// canaryStatus is the state of the batch.
	// +optional
	CanaryStatus BatchReleaseCanaryStatus `json:"canaryStatus,omitempty"`
	// stableRevision is the revision that is being replaced.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// updateRevision is the revision that is being released.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// observedRolloutID is the id of the release.
	// +optional
	ObservedRolloutID string `json:"observedRolloutID,omitempty"`
	// observedWorkloadReplicas is the workload's spec.replicas this status speaks of; -1 before it was seen.
	// +optional
	ObservedWorkloadReplicas int32 `json:"observedWorkloadReplicas,omitempty"`
	// collisionCount counts hash collisions.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// observedReleasePlanHash is the hash of the plan this status speaks of.
	// +optional
	ObservedReleasePlanHash string `json:"observedReleasePlanHash,omitempty"`
	// phase is Preparing, Progressing, Finalizing or Completed.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// BatchReleaseCanaryStatus is the state of the batch under way.
type BatchReleaseCanaryStatus struct {
	// batchState is Upgrading, Verifying or Ready.
	// +optional
	CurrentBatchState BatchReleaseBatchStateType `json:"batchState,omitempty"`
	// currentBatch is the batch, counted from 0.
	// +optional
	CurrentBatch int32 `json:"currentBatch"`
	// batchReadyTime is when it became Ready.
	// +optional
	BatchReadyTime *metav1.Time `json:"batchReadyTime,omitempty"`
	// updatedReplicas counts the updated pods.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// updatedReadyReplicas counts the updated pods that are ready.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// noNeedUpdateReplicas counts the pods that were at the target when a rollback in batches began.
	// +optional
	NoNeedUpdateReplicas *int32 `json:"noNeedUpdateReplicas,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.workloadRef.kind"
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="BATCH",type="integer",JSONPath=".status.canaryStatus.currentBatch"
// +kubebuilder:printcolumn:name="BATCH-STATE",type="string",JSONPath=".status.canaryStatus.batchState"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// BatchRelease updates the pods of one workload in batches.
type BatchRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BatchReleaseSpec   `json:"spec,omitempty"`
	Status BatchReleaseStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// BatchReleaseList is a list of BatchReleases.
type BatchReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BatchRelease `json:"items"`
}
