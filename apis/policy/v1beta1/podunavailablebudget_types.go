// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodUnavailableBudgetSpec says which pods are protected, and how far.
type PodUnavailableBudgetSpec struct {
	// selector selects the pods that are protected. Immutable; not together with targetRef.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// targetRef is the workload whose pods are protected. Immutable; not together with selector.
	// +optional
	TargetReference *TargetReference `json:"targetRef,omitempty"`
	// maxUnavailable is how many of the pods may be unavailable. Percent of the expected pods, rounded
	// up, at most 100%. Not together with minAvailable.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// minAvailable is how many of the pods must stay available. Percent of the expected pods, rounded
	// up, at most 100%. Not together with maxUnavailable.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// protectOperations are the operations that the budget bounds. Empty means DELETE, UPDATE and EVICT.
	// +optional
	ProtectOperations []PubOperation `json:"protectOperations,omitempty"`
	// protectTotalReplicas is how many pods are expected, in place of the replicas of their workloads.
	// At least 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ProtectTotalReplicas *int32 `json:"protectTotalReplicas,omitempty"`
	// ignoredPodSelector selects pods that are not protected after all. Must not be empty.
	// +optional
	IgnoredPodSelector *metav1.LabelSelector `json:"ignoredPodSelector,omitempty"`
}

// PubOperation is one way to make a pod unavailable.
// +kubebuilder:validation:Enum=DELETE;UPDATE;EVICT;RESIZE
type PubOperation string

const (
	// PubUpdateOperation is a change of the pod's spec, or a label that marks it unavailable.
	PubUpdateOperation PubOperation = "UPDATE"
	// PubDeleteOperation is the deletion of the pod.
	PubDeleteOperation PubOperation = "DELETE"
	// PubEvictOperation is the eviction of the pod.
	PubEvictOperation PubOperation = "EVICT"
	// PubResizeOperation is a change of resources that needs no restart.
	PubResizeOperation PubOperation = "RESIZE"
)

// TargetReference names a workload of the same namespace.
type TargetReference struct {
	// apiVersion is the group and version of the workload.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the workload.
	// +optional
	Kind string `json:"kind,omitempty"`
	// name of the workload.
	// +optional
	Name string `json:"name,omitempty"`
}

// PodUnavailableBudgetStatus is what was seen of a PodUnavailableBudget: the books that pod admission
// goes by.
type PodUnavailableBudgetStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// disruptedPods are pods whose deletion or eviction was let through and not yet seen, by name, with
	// the time. Forgotten after 20 seconds.
	// +optional
	DisruptedPods map[string]metav1.Time `json:"disruptedPods,omitempty"`
	// unavailablePods are pods whose change was let through and not yet seen, by name, with the time.
	// Forgotten after 10 seconds.
	// +optional
	UnavailablePods map[string]metav1.Time `json:"unavailablePods,omitempty"`
	// unavailableAllowed is how many more pods may be made unavailable now.
	// +optional
	UnavailableAllowed int32 `json:"unavailableAllowed"`
	// currentAvailable counts the pods that are available.
	// +optional
	CurrentAvailable int32 `json:"currentAvailable"`
	// desiredAvailable is how many pods must stay available.
	// +optional
	DesiredAvailable int32 `json:"desiredAvailable"`
	// totalReplicas is how many pods are expected.
	// +optional
	TotalReplicas int32 `json:"totalReplicas"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pub,categories=fleet
// +kubebuilder:printcolumn:name="Allowed",type="integer",JSONPath=".status.unavailableAllowed"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.currentAvailable"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".status.desiredAvailable"
// +kubebuilder:printcolumn:name="Total",type="integer",JSONPath=".status.totalReplicas"

// PodUnavailableBudget bounds how many pods may be made unavailable at a time, by whatever means:
// deletion, eviction, in-place update or a label.
type PodUnavailableBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PodUnavailableBudgetSpec   `json:"spec,omitempty"`
	Status PodUnavailableBudgetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// PodUnavailableBudgetList is a list of PodUnavailableBudgets.
type PodUnavailableBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodUnavailableBudget `json:"items"`
}
