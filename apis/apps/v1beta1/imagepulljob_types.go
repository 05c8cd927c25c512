// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImagePullJobSpec says which image to pull on which nodes.
type ImagePullJobSpec struct {
	// image to pull: a reference with a tag or a digest; neither means tag latest.
	Image string `json:"image"`
	// The rest is shared with ImageListPullJob.
	ImagePullJobTemplate `json:",inline"`
}

// ImagePullJobTemplate says how to pull, and on which nodes.
type ImagePullJobTemplate struct {
	// pullSecrets are names of Secrets in the namespace of the job. Immutable.
	// +optional
	PullSecrets []string `json:"pullSecrets,omitempty"`
	// selector picks nodes by name or by label. Unset means all. Not together with podSelector.
	// +optional
	Selector *ImagePullJobNodeSelector `json:"selector,omitempty"`
	// podSelector picks the nodes on which pods of the job's namespace with these labels run.
	// +optional
	PodSelector *ImagePullJobPodSelector `json:"podSelector,omitempty"`
	// parallelism is how many nodes pull at once. A number, no percentage. Default 1; 0 pauses.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty"`
	// pullPolicy bounds the pull on one node.
	// +optional
	PullPolicy *PullPolicy `json:"pullPolicy,omitempty"`
	// completionPolicy says when the job is done.
	CompletionPolicy CompletionPolicy `json:"completionPolicy"`
	// sandboxConfig is handed to the container runtime with the pull.
	// +optional
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty"`
	// imagePullPolicy is IfNotPresent (default) or Always.
	// +optional
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty"`
}

// ImagePullPolicy says whether a node pulls an image that it has.
type ImagePullPolicy string

const (
	// PullAlways pulls in any case.
	PullAlways ImagePullPolicy = "Always"
	// PullIfNotPresent pulls what is not there. The default.
	PullIfNotPresent ImagePullPolicy = "IfNotPresent"
)

// ImagePullJobNodeSelector picks nodes: by names or by labels, not both.
type ImagePullJobNodeSelector struct {
	// names of nodes, each once. Names of no node are skipped.
	// +optional
	Names []string `json:"names,omitempty"`
	// Labels of nodes.
	metav1.LabelSelector `json:",inline"`
}

// ImagePullJobPodSelector picks pods by their labels.
type ImagePullJobPodSelector struct {
	// Labels of pods.
	metav1.LabelSelector `json:",inline"`
}

// PullPolicy bounds the pull of an image on one node.
type PullPolicy struct {
	// timeoutSeconds bounds one attempt. Seconds, default 600.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// backoffLimit is how many more attempts are made. Default 3.
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// CompletionPolicyType says when a job is done.
type CompletionPolicyType string

const (
	// CompletionPolicyAlways: once every node succeeded or failed. The default.
	CompletionPolicyAlways CompletionPolicyType = "Always"
	// CompletionPolicyNever: never; nodes that come later are served as well.
	CompletionPolicyNever CompletionPolicyType = "Never"
)

// CompletionPolicy says when a job is done and what happens then.
type CompletionPolicy struct {
	// type is Always (default) or Never.
	// +optional
	Type CompletionPolicyType `json:"type,omitempty"`
	// activeDeadlineSeconds is how long after its start the job is given up. Seconds; type Always only.
	// Unset means never.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// ttlSecondsAfterFinished is how long after its end the job is deleted. Seconds; type Always only.
	// Unset means never.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// SandboxConfig is handed to the container runtime with the pull.
type SandboxConfig struct {
	// labels of the sandbox.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the sandbox.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ImagePullJobStatus is what was seen of an ImagePullJob.
type ImagePullJobStatus struct {
	// startTime is when the job was first looked at.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job was done. Unset while it is not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// desired counts the nodes that the job picks.
	// +optional
	Desired int32 `json:"desired"`
	// active counts the nodes that pull.
	// +optional
	Active int32 `json:"active,omitempty"`
	// succeeded counts the nodes that have pulled.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// failed counts the nodes that gave up.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// failedNodes are the names of the nodes that gave up, sorted.
	// +optional
	FailedNodes []string `json:"failedNodes,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.desired"
// +kubebuilder:printcolumn:name="ACTIVE",type="integer",JSONPath=".status.active"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// ImagePullJob pulls one image on many nodes.
type ImagePullJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ImagePullJobSpec   `json:"spec,omitempty"`
	Status ImagePullJobStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// ImagePullJobList is a list of ImagePullJobs.
type ImagePullJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ImagePullJob `json:"items"`
}
