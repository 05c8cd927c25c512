// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
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
	// concurrencyPolicy is Allow (default), Forbid or Replace.
	// +optional
	ConcurrencyPolicy appsv1beta1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
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

// CronJobTemplate is the job that each run makes: exactly one field is set. The third kind that v1beta1
// knows, imageListPullJobTemplate, is kept in an annotation of objects read in this version.
type CronJobTemplate struct {
	// jobTemplate makes native Jobs. Immutable.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	JobTemplate *batchv1.JobTemplateSpec `json:"jobTemplate,omitempty"`
	// broadcastJobTemplate makes BroadcastJobs. Immutable.
	// +optional
	BroadcastJobTemplate *appsv1beta1.BroadcastJobTemplateSpec `json:"broadcastJobTemplate,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
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

	Spec   AdvancedCronJobSpec               `json:"spec,omitempty"`
	Status appsv1beta1.AdvancedCronJobStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// AdvancedCronJobList is a list of AdvancedCronJobs.
type AdvancedCronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AdvancedCronJob `json:"items"`
}
