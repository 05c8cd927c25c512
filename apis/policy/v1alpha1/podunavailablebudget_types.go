// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

// PodUnavailableBudgetSpec says which pods are protected, and how far. v1beta1's protectOperations and
// protectTotalReplicas are annotations here: see PodUnavailableBudgetProtectOperationsKey and
// PodUnavailableBudgetProtectTotalReplicasKey in v1beta1.
type PodUnavailableBudgetSpec struct {
	// selector selects the pods that are protected. Immutable; not together with targetRef.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// targetRef is the workload whose pods are protected. Immutable; not together with selector.
	// +optional
	TargetReference *policyv1beta1.TargetReference `json:"targetRef,omitempty"`
	// maxUnavailable is how many of the pods may be unavailable. Percent of the expected pods, rounded
	// up, at most 100%. Not together with minAvailable.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// minAvailable is how many of the pods must stay available. Percent of the expected pods, rounded
	// up, at most 100%. Not together with maxUnavailable.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
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

	Spec   PodUnavailableBudgetSpec                 `json:"spec,omitempty"`
	Status policyv1beta1.PodUnavailableBudgetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// PodUnavailableBudgetList is a list of PodUnavailableBudgets.
type PodUnavailableBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodUnavailableBudget `json:"items"`
}
