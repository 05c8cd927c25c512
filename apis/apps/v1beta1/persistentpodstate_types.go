// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PersistentPodStateSpec says what is remembered of the pods of a workload.
type PersistentPodStateSpec struct {
	// targetRef is the workload: a StatefulSet of apps or apps.kruise.io, or a kind that the
	// administrator allowed. Immutable.
	TargetReference TargetReference `json:"targetRef"`
	// persistentPodAnnotations are annotations of the pods to remember.
	// +optional
	PersistentPodAnnotations []PersistentPodAnnotation `json:"persistentPodAnnotations,omitempty"`
	// requiredPersistentTopology makes a pod that comes again run where the one before ran.
	// +optional
	RequiredPersistentTopology *NodeTopologyTerm `json:"requiredPersistentTopology,omitempty"`
	// preferredPersistentTopology makes a pod that comes again rather run where the one before ran.
	// +optional
	PreferredPersistentTopology []PreferredTopologyTerm `json:"preferredPersistentTopology,omitempty"`
	// persistentPodStateRetentionPolicy is WhenScaled (default) or WhenDeleted.
	// +optional
	// +kubebuilder:validation:Enum=WhenScaled;WhenDeleted
	PersistentPodStateRetentionPolicy PersistentPodStateRetentionPolicyType `json:"persistentPodStateRetentionPolicy,omitempty"`
}

// PersistentPodStateRetentionPolicyType says when the memory of a pod ends.
type PersistentPodStateRetentionPolicyType string

const (
	// PersistentPodStateRetentionPolicyWhenScaled forgets a pod when the workload is scaled in below it.
	PersistentPodStateRetentionPolicyWhenScaled PersistentPodStateRetentionPolicyType = "WhenScaled"
	// PersistentPodStateRetentionPolicyWhenDeleted forgets a pod only when the workload is deleted.
	PersistentPodStateRetentionPolicyWhenDeleted PersistentPodStateRetentionPolicyType = "WhenDeleted"
)

// PersistentPodAnnotation is one annotation to remember.
type PersistentPodAnnotation struct {
	// key of the annotation.
	Key string `json:"key"`
}

// NodeTopologyTerm lists labels of nodes that a pod comes back to.
type NodeTopologyTerm struct {
	// keys of node labels.
	Keys []string `json:"keys"`
}

// PreferredTopologyTerm is a preference for nodes by their labels.
type PreferredTopologyTerm struct {
	// weight of the preference, as in node affinity: 1 to 100.
	// +kubebuilder:validation:Minimum=0
	Weight int32 `json:"weight"`
	// preference lists the labels.
	Preference NodeTopologyTerm `json:"preference"`
}

// PersistentPodStateStatus is what is remembered.
type PersistentPodStateStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// podStates is what is remembered of each pod, by its name.
	// +optional
	PodStates map[string]PodState `json:"podStates,omitempty"`
}

// PodState is what is remembered of one pod.
type PodState struct {
	// nodeName is the node it last ran on.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// nodeTopologyLabels are the labels of that node that spec asks for.
	// +optional
	NodeTopologyLabels map[string]string `json:"nodeTopologyLabels,omitempty"`
	// annotations are the annotations of the pod that spec asks for.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet

// PersistentPodState remembers where the pods of a workload ran and sends them there again.
type PersistentPodState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PersistentPodStateSpec   `json:"spec,omitempty"`
	Status PersistentPodStateStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// PersistentPodStateList is a list of PersistentPodStates.
type PersistentPodStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PersistentPodState `json:"items"`
}
