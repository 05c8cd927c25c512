// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// PersistentPodStateSpec says what is remembered of the pods of a workload.
type PersistentPodStateSpec struct {
	// targetRef is the workload: a StatefulSet of apps or apps.kruise.io, or a kind that the
	// administrator allowed. Immutable.
	TargetReference appsv1beta1.TargetReference `json:"targetRef"`
	// persistentPodAnnotations are annotations of the pods to remember.
	// +optional
	PersistentPodAnnotations []appsv1beta1.PersistentPodAnnotation `json:"persistentPodAnnotations,omitempty"`
	// requiredPersistentTopology makes a pod that comes again run where the one before ran.
	// +optional
	RequiredPersistentTopology *NodeTopologyTerm `json:"requiredPersistentTopology,omitempty"`
	// preferredPersistentTopology makes a pod that comes again rather run where the one before ran.
	// +optional
	PreferredPersistentTopology []PreferredTopologyTerm `json:"preferredPersistentTopology,omitempty"`
	// persistentPodStateRetentionPolicy is WhenScaled (default) or WhenDeleted.
	// +optional
	PersistentPodStateRetentionPolicy appsv1beta1.PersistentPodStateRetentionPolicyType `json:"persistentPodStateRetentionPolicy,omitempty"`
}

// NodeTopologyTerm lists labels of nodes that a pod comes back to.
type NodeTopologyTerm struct {
	// nodeTopologyKeys are keys of node labels.
	NodeTopologyKeys []string `json:"nodeTopologyKeys"`
}

// PreferredTopologyTerm is a preference for nodes by their labels.
type PreferredTopologyTerm struct {
	// weight of the preference, as in node affinity: 1 to 100.
	Weight int32 `json:"weight"`
	// preference lists the labels.
	Preference NodeTopologyTerm `json:"preference"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet

// PersistentPodState remembers where the pods of a workload ran and sends them there again.
type PersistentPodState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PersistentPodStateSpec               `json:"spec,omitempty"`
	Status appsv1beta1.PersistentPodStateStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// PersistentPodStateList is a list of PersistentPodStates.
type PersistentPodStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PersistentPodState `json:"items"`
}
