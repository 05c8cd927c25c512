// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeImageSpec is what one node should pull.
type NodeImageSpec struct {
	// images maps image names, without tag or digest, to what to pull of them. At most 256.
	// +optional
	Images map[string]ImageSpec `json:"images,omitempty"`
}

// ImageSpec is what to pull of one image.
type ImageSpec struct {
	// pullSecrets are Secrets to pull with. The node agent may read those of its own namespace only.
	// +optional
	PullSecrets []ReferenceObject `json:"pullSecrets,omitempty"`
	// tags to pull, sorted, each once.
	Tags []ImageTagSpec `json:"tags"`
	// sandboxConfig is handed to the container runtime with the pull.
	// +optional
	SandboxConfig *SandboxConfig `json:"sandboxConfig,omitempty"`
}

// ReferenceObject names a Secret.
type ReferenceObject struct {
	// namespace of the Secret.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`
	// mode is batch where several jobs share the Secret, else empty.
	// +optional
	Mode string `json:"mode,omitempty"`
}

// ImageTagSpec is one tag to pull.
type ImageTagSpec struct {
	// tag, or digest with its algorithm: sha256:….
	Tag string `json:"tag"`
	// createdAt is when the pull was asked for.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// pullPolicy bounds the pull.
	// +optional
	PullPolicy *ImageTagPullPolicy `json:"pullPolicy,omitempty"`
	// ownerReferences are the jobs that asked for it. The tag goes with the last of them.
	// +optional
	OwnerReferences []corev1.ObjectReference `json:"ownerReferences,omitempty"`
	// version rises when the tag is to be pulled anew. 0 or more.
	// +optional
	Version int64 `json:"version,omitempty"`
	// imagePullPolicy is IfNotPresent (default) or Always.
	// +optional
	ImagePullPolicy ImagePullPolicy `json:"imagePullPolicy,omitempty"`
}

// ImageTagPullPolicy bounds the pull of one tag.
type ImageTagPullPolicy struct {
	// timeoutSeconds bounds one attempt. Seconds, default 600.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// backoffLimit is how many more attempts are made. Default 3.
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// ttlSecondsAfterFinished is how long after its end the tag is dropped. Seconds.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// activeDeadlineSeconds is how long after its start the pull is given up. Seconds; unset means never.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
}

// NodeImageStatus is what the node's agent has pulled.
type NodeImageStatus struct {
	// desired counts the tags of all images.
	// +optional
	Desired int32 `json:"desired"`
	// succeeded counts the tags that were pulled.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// failed counts the tags that were given up.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// pulling counts the tags that are being pulled.
	// +optional
	Pulling int32 `json:"pulling,omitempty"`
	// waiting counts the tags that wait for a free worker.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// imageStatuses maps image names to the state of their tags.
	// +optional
	ImageStatuses map[string]ImageStatus `json:"imageStatuses,omitempty"`
	// firstSyncStatus is not written any more.
	// +optional
	FirstSyncStatus *SyncStatus `json:"firstSyncStatus,omitempty"`
}

// ImageStatus is the state of the tags of one image.
type ImageStatus struct {
	// tags, sorted.
	// +optional
	Tags []ImageTagStatus `json:"tags"`
}

// ImagePullPhase says how far the pull of a tag is.
type ImagePullPhase string

const (
	// ImagePhaseWaiting waits for a free worker.
	ImagePhaseWaiting ImagePullPhase = "Waiting"
	// ImagePhasePulling is being pulled.
	ImagePhasePulling ImagePullPhase = "Pulling"
	// ImagePhaseSucceeded was pulled.
	ImagePhaseSucceeded ImagePullPhase = "Succeeded"
	// ImagePhaseFailed was given up.
	ImagePhaseFailed ImagePullPhase = "Failed"
)

// ImageTagStatus is the state of one tag.
type ImageTagStatus struct {
	// tag, or digest with its algorithm.
	// +optional
	Tag string `json:"tag"`
	// phase is Waiting, Pulling, Succeeded or Failed.
	// +optional
	Phase ImagePullPhase `json:"phase"`
	// progress of the pull, 0 to 100.
	// +optional
	Progress int32 `json:"progress,omitempty"`
	// startTime is when the pull began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the pull ended. Unset while it has not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// version of the tag's spec that this speaks of.
	// +optional
	Version int64 `json:"version,omitempty"`
	// imageID is the image that was pulled: name@id.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// message is the last error.
	// +optional
	Message string `json:"message,omitempty"`
}

// SyncStatusPhase says how a first sync ended.
type SyncStatusPhase string

// SyncStatus is the state of a first sync.
type SyncStatus struct {
	// syncAt is when it was.
	// +optional
	SyncAt metav1.Time `json:"syncAt,omitempty"`
	// status says how it ended.
	// +optional
	Status SyncStatusPhase `json:"status,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// MostImagesOfNode is how many images a NodeImage may have.
const MostImagesOfNode = 256

// Messages of tags that the spoke gave up because their node did not.
const (
	// ImageNodeSilentMessage: the node's agent said nothing of the tag for ten minutes.
	ImageNodeSilentMessage = "node has not responded for a long time"
	// ImageDeadlineMessage: activeDeadlineSeconds passed. The node agent writes it as well.
	ImageDeadlineMessage = "pulling exceeds the activeDeadlineSeconds"
)

// Labels of NodeImages and reasons of the events about them.
const (
	// FakeNodeImageLabel is on NodeImages of tests: whatever its value, the object is kept although there
	// is no such node. Tests write, the spoke reads.
	FakeNodeImageLabel = "apps.kruise.io/fake-nodeimage"
	// PullImageSucceedReason, on the NodeImage: a tag was pulled. The node agent writes.
	PullImageSucceedReason = "PullImageSucceed"
	// PullImageFailedReason, on the NodeImage and the jobs: a tag was given up. Node agent and spoke write.
	PullImageFailedReason = "PullImageFailed"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fleet
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desired"
// +kubebuilder:printcolumn:name="PULLING",type="integer",JSONPath=".status.pulling"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// NodeImage is what one node should pull and has pulled. It has the node's name and labels.
type NodeImage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeImageSpec   `json:"spec,omitempty"`
	Status NodeImageStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// NodeImageList is a list of NodeImages.
type NodeImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeImage `json:"items"`
}
