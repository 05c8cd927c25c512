// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
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
	Tags []v1beta1.ImageTagSpec `json:"tags"`
	// sandboxConfig is handed to the container runtime with the pull.
	// +optional
	SandboxConfig *v1beta1.SandboxConfig `json:"sandboxConfig,omitempty"`
}

// ReferenceObject names a Secret.
type ReferenceObject struct {
	// namespace of the Secret.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
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

	Spec   NodeImageSpec           `json:"spec,omitempty"`
	Status v1beta1.NodeImageStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// NodeImageList is a list of NodeImages.
type NodeImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeImage `json:"items"`
}
