// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ImageListPullJobSpec is what an ImageListPullJob should pull.
type ImageListPullJobSpec struct {
	// images to pull: 1 to 255, each once.
	Images               []string `json:"images"`
	ImagePullJobTemplate `json:",inline"`
}

// ImagePullJobTemplate says how to pull, and on which nodes.
type ImagePullJobTemplate struct {
	// selector selects nodes. Not together with podSelector.
	// +optional
	Selector *ImagePullJobNodeSelector `json:"selector,omitempty"`
	// podSelector selects pods, and with them their nodes.
	// +optional
	PodSelector *ImagePullJobPodSelector `json:"podSelector,omitempty"`
	// parallelism is how many nodes pull at once. Default 1.
	// +optional
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty"`
	// completionPolicy says when the job ends.
	CompletionPolicy CompletionPolicy `json:"completionPolicy"`
	// pullSecrets are names of Secrets to pull with.
	// +optional
	PullSecrets []string `json:"pullSecrets,omitempty"`
	// pullPolicy tunes a pull.
	// +optional
	PullPolicy *PullPolicy `json:"pullPolicy,omitempty"`
	// sandboxConfig is handed to the container runtime.
	// +optional
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty"`
	// imagePullPolicy is IfNotPresent (default) or Always.
	// +optional
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty"`
}

// ImagePullPolicy says whether an image that is there is pulled again.
type ImagePullPolicy string

const (
	// PullAlways pulls again.
	PullAlways ImagePullPolicy = "Always"
	// PullIfNotPresent does not.
	PullIfNotPresent ImagePullPolicy = "IfNotPresent"
)

// CompletionPolicyType says whether a pull job ever ends.
type CompletionPolicyType string

const (
	// CompletionPolicyAlways ends it.
	CompletionPolicyAlways CompletionPolicyType = "Always"
	// CompletionPolicyNever does not.
	CompletionPolicyNever CompletionPolicyType = "Never"
)

// CompletionPolicy says when a pull job ends.
type CompletionPolicy struct {
	// type is Always or Never.
	// +optional
	Type CompletionPolicyType `json:"type,omitempty"`
	// activeDeadlineSeconds bounds the job. Seconds.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// ttlSecondsAfterFinished is how long the job is kept. Seconds.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ImagePullJobNodeSelector selects nodes.
type ImagePullJobNodeSelector struct {
	// names of nodes.
	// +optional
	Names []string `json:"names,omitempty"`
	// the labels of nodes.
	metav1.LabelSelector `json:",inline"`
}

// ImagePullJobPodSelector selects pods.
type ImagePullJobPodSelector struct {
	metav1.LabelSelector `json:",inline"`
}

// PullPolicy tunes a pull.
type PullPolicy struct {
	// timeoutSeconds bounds one pull. Seconds, default 600.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// backoffLimit is how often a pull is tried again. Default 3.
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// SandboxConfig is handed to the container runtime.
type SandboxConfig struct {
	// labels of the sandbox.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the sandbox.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
