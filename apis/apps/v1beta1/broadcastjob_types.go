// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BroadcastJobSpec is what a BroadcastJob should do.
type BroadcastJobSpec struct {
	// parallelism caps the pods that run at a time. Percent of the nodes that fit, rounded up.
	// Default 2147483647: all at once.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty"`
	// template of the pods; every node that fits it gets one. restartPolicy must be Never or OnFailure.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`
	// completionPolicy says when the job ends and what becomes of it.
	// +optional
	CompletionPolicy BroadcastJobCompletionPolicy `json:"completionPolicy,omitempty"`
	// paused stops the creation of pods. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// failurePolicy says what a failed pod means for the job.
	// +optional
	FailurePolicy BroadcastJobFailurePolicy `json:"failurePolicy,omitempty"`
}

// BroadcastJobCompletionType says whether a job ever ends.
type BroadcastJobCompletionType string

const (
	// BroadcastJobCompletesAlways ends the job once every node is done.
	BroadcastJobCompletesAlways BroadcastJobCompletionType = "Always"
	// BroadcastJobCompletesNever keeps the job going: every node that joins gets a pod.
	BroadcastJobCompletesNever BroadcastJobCompletionType = "Never"
)

// BroadcastJobCompletionPolicy says when a job ends and what becomes of it.
type BroadcastJobCompletionPolicy struct {
	// type is Always (default) or Never.
	// +optional
	Type BroadcastJobCompletionType `json:"type,omitempty"`
	// activeDeadlineSeconds is how long the job may run before it fails. Seconds from its start; unset
	// means no bound. Type Always only.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// ttlSecondsAfterFinished is how long the job is kept once it ended. Seconds; unset means for ever.
	// Type Always only.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// BroadcastJobFailurePolicyType says what a failed pod means for the job.
type BroadcastJobFailurePolicyType string

const (
	// BroadcastJobFailFast fails the job and deletes the pods that still run.
	BroadcastJobFailFast BroadcastJobFailurePolicyType = "FailFast"
	// BroadcastJobFailureContinues goes on with the other nodes.
	BroadcastJobFailureContinues BroadcastJobFailurePolicyType = "Continue"
	// BroadcastJobFailurePauses pauses the job.
	BroadcastJobFailurePauses BroadcastJobFailurePolicyType = "Pause"
)

// BroadcastJobFailurePolicy says what a failed pod means for the job.
type BroadcastJobFailurePolicy struct {
	// type is FailFast (default), Continue or Pause.
	// +optional
	Type BroadcastJobFailurePolicyType `json:"type,omitempty"`
	// restartLimit is how often the containers of a pod may restart, added up, before the pod counts as
	// failed. Default 0; for restartPolicy OnFailure only.
	// +optional
	RestartLimit int32 `json:"restartLimit,omitempty"`
}

// BroadcastJobConditionType is the type of a condition of a BroadcastJob.
type BroadcastJobConditionType string

const (
	// BroadcastJobComplete is True once every node is done.
	BroadcastJobComplete BroadcastJobConditionType = "Complete"
	// BroadcastJobFailed is True once the job failed.
	BroadcastJobFailed BroadcastJobConditionType = "Failed"
)

// BroadcastJobCondition is one observation about a BroadcastJob.
type BroadcastJobCondition struct {
	// type is Complete or Failed.
	// +optional
	Type BroadcastJobConditionType `json:"type"`
	// status is True, False or Unknown.
	// +optional
	Status corev1.ConditionStatus `json:"status"`
	// lastProbeTime is when the condition was last looked at.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty,omitzero"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
	// reason is one word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// BroadcastJobPhase is where a BroadcastJob stands.
type BroadcastJobPhase string

const (
	// BroadcastJobRunningPhase: pods run, or wait to be created.
	BroadcastJobRunningPhase BroadcastJobPhase = "running"
	// BroadcastJobPausedPhase: no pods are created until somebody goes on with the job.
	BroadcastJobPausedPhase BroadcastJobPhase = "paused"
	// BroadcastJobCompletedPhase: every node is done.
	BroadcastJobCompletedPhase BroadcastJobPhase = "completed"
	// BroadcastJobFailedPhase: the job failed.
	BroadcastJobFailedPhase BroadcastJobPhase = "failed"
)

// BroadcastJobStatus is what was seen of a BroadcastJob.
type BroadcastJobStatus struct {
	// conditions of the job.
	// +optional
	Conditions []BroadcastJobCondition `json:"conditions,omitempty"`
	// startTime is when the job was first worked on.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job ended, well or not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// active counts the pods that run.
	// +optional
	Active int32 `json:"active"`
	// succeeded counts the pods that ended well.
	// +optional
	Succeeded int32 `json:"succeeded"`
	// failed counts the pods that failed.
	// +optional
	Failed int32 `json:"failed"`
	// desired counts the nodes that should run a pod.
	// +optional
	Desired int32 `json:"desired"`
	// phase is running, paused, completed or failed.
	// +optional
	Phase BroadcastJobPhase `json:"phase"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bcj,categories=fleet
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desired"
// +kubebuilder:printcolumn:name="Active",type="integer",JSONPath=".status.active"
// +kubebuilder:printcolumn:name="Succeeded",type="integer",JSONPath=".status.succeeded"
// +kubebuilder:printcolumn:name="Failed",type="integer",JSONPath=".status.failed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// BroadcastJob runs a pod to its end on every node that fits, once or on every node to come.
type BroadcastJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BroadcastJobSpec   `json:"spec,omitempty"`
	Status BroadcastJobStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// BroadcastJobList is a list of BroadcastJobs.
type BroadcastJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BroadcastJob `json:"items"`
}
