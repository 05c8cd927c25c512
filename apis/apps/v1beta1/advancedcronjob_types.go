// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdvancedCronJobSpec is what an AdvancedCronJob should do.
type AdvancedCronJobSpec struct {
	// schedule says when to run: five fields as in cron, or a descriptor such as @daily.
	// +kubebuilder:validation:MinLength=0
	Schedule string `json:"schedule"`
	// timeZone is the IANA name of the time zone that schedule speaks of. Unset means the time zone of
	// the controller. Not together with a TZ= in schedule.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
	// startingDeadlineSeconds is how late a run may start. Seconds; unset means however late.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// concurrencyPolicy is Allow, Forbid or Replace. Default Allow; Replace with
	// imageListPullJobTemplate, where Allow is refused.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// paused stops new runs. Those under way go on. Default false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
	// successfulJobsHistoryLimit is how many jobs that ended well are kept. Default 3.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`
	// failedJobsHistoryLimit is how many jobs that failed are kept. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
	// template of the job that each run makes: exactly one of its fields is set.
	Template CronJobTemplate `json:"template"`
}

// CronJobTemplate is the job that each run makes: exactly one field is set.
type CronJobTemplate struct {
	// jobTemplate makes native Jobs. Immutable.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	JobTemplate *batchv1.JobTemplateSpec `json:"jobTemplate,omitempty"`
	// broadcastJobTemplate makes BroadcastJobs. Immutable.
	// +optional
	BroadcastJobTemplate *BroadcastJobTemplateSpec `json:"broadcastJobTemplate,omitempty"`
	// imageListPullJobTemplate makes ImageListPullJobs.
	// +optional
	ImageListPullJobTemplate *ImageListPullJobTemplateSpec `json:"imageListPullJobTemplate,omitempty"`
}

// BroadcastJobTemplateSpec is a BroadcastJob without its name.
type BroadcastJobTemplateSpec struct {
	// metadata of the jobs: labels and annotations.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec of the jobs.
	// +optional
	Spec BroadcastJobSpec `json:"spec,omitempty"`
}

// ImageListPullJobTemplateSpec is an ImageListPullJob without its name.
type ImageListPullJobTemplateSpec struct {
	// metadata of the jobs: labels and annotations.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec of the jobs.
	// +optional
	Spec ImageListPullJobSpec `json:"spec,omitempty"`
}

// ConcurrencyPolicy says what to do when a run is due and the one before is not done.
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

const (
	// AllowConcurrent lets them run side by side.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ForbidConcurrent skips the new run.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent deletes the old run and starts the new one.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// TemplateKind says which kind of job a template makes.
type TemplateKind string

const (
	// JobTemplate makes native Jobs.
	JobTemplate TemplateKind = "Job"
	// BroadcastJobTemplate makes BroadcastJobs.
	BroadcastJobTemplate TemplateKind = "BroadcastJob"
	// ImageListPullJobTemplate makes ImageListPullJobs.
	ImageListPullJobTemplate TemplateKind = "ImageListPullJob"
)

// AdvancedCronJobStatus is what was seen of an AdvancedCronJob.
type AdvancedCronJobStatus struct {
	// type is Job, BroadcastJob or ImageListPullJob.
	// +optional
	Type TemplateKind `json:"type,omitempty"`
	// active refers to the jobs that are not done.
	// +optional
	Active []corev1.ObjectReference `json:"active,omitempty"`
	// lastScheduleTime is when the newest run was due.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=acj,categories=fleet
// +kubebuilder:printcolumn:name="Schedule",type="string",JSONPath=".spec.schedule"
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".status.type"
// +kubebuilder:printcolumn:name="LastScheduleTime",type="date",JSONPath=".status.lastScheduleTime"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// AdvancedCronJob makes a Job, a BroadcastJob or an ImageListPullJob whenever its schedule says.
type AdvancedCronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AdvancedCronJobSpec   `json:"spec,omitempty"`
	Status AdvancedCronJobStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// AdvancedCronJobList is a list of AdvancedCronJobs.
type AdvancedCronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AdvancedCronJob `json:"items"`
}
