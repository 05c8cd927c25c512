// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// BatchReleaseSpec says which pods of a workload to update.
type BatchReleaseSpec struct {
	// targetReference holds the workload.
	TargetRef WorkloadTarget `json:"targetReference"`
	// releasePlan says how many pods in which batch.
	ReleasePlan v1beta1.ReleasePlan `json:"releasePlan"`
}

// BatchReleaseStatus is what was seen of a BatchRelease.
type BatchReleaseStatus struct {
	// conditions of the release.
	// +optional
	Conditions []v1beta1.RolloutCondition `json:"conditions,omitempty"`
	// canaryStatus is the state of the batch.
	// +optional
	CanaryStatus v1beta1.BatchReleaseCanaryStatus `json:"canaryStatus,omitempty"`
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
	Phase v1beta1.RolloutPhase `json:"phase,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.targetReference.workloadRef.kind"
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
