// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EphemeralJobSpec says which ephemeral containers go into which pods.
type EphemeralJobSpec struct {
	// selector selects pods of the job's namespace.
	Selector *metav1.LabelSelector `json:"selector"`
	// replicas is how many pods get the containers. Unset means all that are selected.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// parallelism is how many pods are worked on at a time. Default 1.
	// +optional
	Parallelism *int32 `json:"parallelism,omitempty"`
	// template holds the containers.
	Template EphemeralContainerTemplateSpec `json:"template"`
	// paused stops new containers. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// activeDeadlineSeconds is how long the job may run before it fails. Seconds from its start; unset
	// means no bound.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// ttlSecondsAfterFinished is how long the job is kept once it ended. Seconds, default 1800.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// EphemeralContainerTemplateSpec holds the containers that pods get.
type EphemeralContainerTemplateSpec struct {
	// ephemeralContainers that each pod gets. imagePullPolicy and terminationMessagePolicy are not
	// defaulted and have to be set.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	EphemeralContainers []corev1.EphemeralContainer `json:"ephemeralContainers"`
}

// EphemeralJobPhase is where an EphemeralJob stands.
type EphemeralJobPhase string

const (
	// EphemeralJobSucceeded: the containers of all pods ended well.
	EphemeralJobSucceeded EphemeralJobPhase = "Succeeded"
	// EphemeralJobFailed: containers failed, or the deadline passed.
	EphemeralJobFailed EphemeralJobPhase = "Failed"
	// EphemeralJobWaiting: no container runs yet, or no pod is selected.
	EphemeralJobWaiting EphemeralJobPhase = "Waiting"
	// EphemeralJobRunning: containers run.
	EphemeralJobRunning EphemeralJobPhase = "Running"
	// EphemeralJobPaused: spec says paused.
	EphemeralJobPaused EphemeralJobPhase = "Paused"
	// EphemeralJobError: the template holds no container.
	EphemeralJobError EphemeralJobPhase = "Error"
	// EphemeralJobUnknown: none of the others.
	EphemeralJobUnknown EphemeralJobPhase = "Unknown"
)

// EphemeralJobConditionType is the type of a condition of an EphemeralJob.
type EphemeralJobConditionType string

const (
	// EJobInitialized is True once the job has been looked at.
	EJobInitialized EphemeralJobConditionType = "Initialized"
	// EJobMatchedEmpty is True while no pod is selected.
	EJobMatchedEmpty EphemeralJobConditionType = "MatchedEmpty"
	// EJobSucceeded is True once the job ended well.
	EJobSucceeded EphemeralJobConditionType = "JobSucceeded"
	// EJobFailed is True once a container failed or the deadline passed.
	EJobFailed EphemeralJobConditionType = "JobFailed"
	// EJobError is True when the job cannot be worked on.
	EJobError EphemeralJobConditionType = "JobError"
)

// EphemeralJobCondition is one observation about an EphemeralJob.
type EphemeralJobCondition struct {
	// type of the condition.
	// +optional
	Type EphemeralJobConditionType `json:"type"`
	// status is True, False or Unknown.
	// +optional
	Status corev1.ConditionStatus `json:"status"`
	// lastProbeTime is when the condition was last looked at.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty,omitzero"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
	// reason is one CamelCase word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// EphemeralJobStatus is what was seen of an EphemeralJob.
type EphemeralJobStatus struct {
	// conditions of the job.
	// +optional
	Conditions []EphemeralJobCondition `json:"conditions,omitempty"`
	// startTime is when the job was first worked on.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job ended, well or not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// phase is Waiting, Running, Paused, Unknown, Succeeded, Failed or Error.
	// +optional
	Phase EphemeralJobPhase `json:"phase,omitempty"`
	// match counts the pods that get the containers.
	// +optional
	Matches int32 `json:"match"`
	// running counts pods in which they run.
	// +optional
	Running int32 `json:"running"`
	// succeeded counts pods in which they ended well.
	// +optional
	Succeeded int32 `json:"succeeded"`
	// waiting counts pods in which they wait to start.
	// +optional
	Waiting int32 `json:"waiting"`
	// failed counts pods in which one failed.
	// +optional
	Failed int32 `json:"failed"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ejob,categories=fleet
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="MATCH",type="integer",JSONPath=".status.match"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed"
// +kubebuilder:printcolumn:name="RUNNING",type="integer",JSONPath=".status.running"
// +kubebuilder:printcolumn:name="WAITING",type="integer",JSONPath=".status.waiting"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// EphemeralJob puts ephemeral containers into running pods.
type EphemeralJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EphemeralJobSpec   `json:"spec,omitempty"`
	Status EphemeralJobStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// EphemeralJobList is a list of EphemeralJobs.
type EphemeralJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EphemeralJob `json:"items"`
}
