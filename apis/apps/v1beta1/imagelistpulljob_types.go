// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ImageListPullJobSpec says which images to pull on which nodes.
type ImageListPullJobSpec struct {
	// images to pull, 1 to 255, each once. One ImagePullJob is made for each.
	Images []string `json:"images"`
	// The rest is shared with ImagePullJob.
	ImagePullJobTemplate `json:",inline"`
}

// ImageListPullJobStatus is what was seen of an ImageListPullJob.
type ImageListPullJobStatus struct {
	// desired counts the images.
	// +optional
	Desired int32 `json:"desired"`
	// active counts the images that some node pulls.
	// +optional
	Active int32 `json:"active,omitempty"`
	// completed counts the images that every node pulled or gave up.
	// +optional
	Completed int32 `json:"completed,omitempty"`
	// succeeded counts the images that every node has pulled.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// startTime is when the job was first looked at.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job was done. Unset while it is not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// failedImageStatuses, one for each image that some node gave up.
	// +optional
	FailedImageStatuses []FailedImageStatus `json:"failedImageStatuses,omitempty"`
}

// FailedImageStatus is an image that some node gave up.
type FailedImageStatus struct {
	// imagePullJob is the name of the job that pulls it.
	// +optional
	ImagePullJob string `json:"imagePullJob,omitempty"`
	// name is the image.
	// +optional
	Name string `json:"name,omitempty"`
	// message says where to look.
	// +optional
	Message string `json:"message,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.desired"
// +kubebuilder:printcolumn:name="SUCCEEDED",type="integer",JSONPath=".status.succeeded"
// +kubebuilder:printcolumn:name="COMPLETED",type="integer",JSONPath=".status.completed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// ImageListPullJob pulls several images on many nodes.
type ImageListPullJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ImageListPullJobSpec   `json:"spec,omitempty"`
	Status ImageListPullJobStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// ImageListPullJobList is a list of ImageListPullJobs.
type ImageListPullJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ImageListPullJob `json:"items"`
}
