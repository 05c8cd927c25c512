// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// SidecarSetSpec is what a SidecarSet should be.
type SidecarSetSpec struct {
	// selector matches the labels of the pods that get the sidecars. Must select by something.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// namespace is one namespace whose pods get the sidecars; it overrides namespaceSelector, as which it
	// is stored.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// namespaceSelector matches the labels of the namespaces whose pods get the sidecars. Unset means
	// every namespace; when set it must select by something.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// initContainers are put into new pods; running pods never get them.
	// +optional
	InitContainers []v1beta1.SidecarContainer `json:"initContainers,omitempty"`
	// containers are put into new pods; a new image reaches pods that have them in place.
	// +optional
	Containers []v1beta1.SidecarContainer `json:"containers,omitempty"`
	// volumes that the sidecars mount. A volume of the pod with the same name wins.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// imagePullSecrets are added to those of new pods. They must exist in the namespaces of the pods.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// injectionStrategy says whether, and which revision of, the sidecars new pods get.
	// +optional
	InjectionStrategy v1beta1.SidecarSetInjectionStrategy `json:"injectionStrategy,omitempty"`
	// updateStrategy says how running pods get new images.
	// +optional
	UpdateStrategy v1beta1.SidecarSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many revisions are kept. Default 10; less than 1 counts as 1. A
	// revision that a pod or injectionStrategy names is kept beyond it.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// patchPodMetadata are annotations that pods get with the sidecars.
	// +optional
	PatchPodMetadata []v1beta1.SidecarSetPatchPodMetadata `json:"patchPodMetadata,omitempty"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fleet
// +kubebuilder:printcolumn:name="MATCHED",type="integer",JSONPath=".status.matchedPods"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedPods"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyPods"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// SidecarSet puts containers into the pods it matches and updates them in place.
type SidecarSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SidecarSetSpec           `json:"spec,omitempty"`
	Status v1beta1.SidecarSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// SidecarSetList is a list of SidecarSets.
type SidecarSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SidecarSet `json:"items"`
}
