// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// TrafficRoutingSpec says whose traffic goes to the canary pods of other workloads while a release of those
// is under way.
type TrafficRoutingSpec struct {
	// objectRef says whose traffic.
	ObjectRef []v1beta1.TrafficRoutingRef `json:"objectRef"`
	// strategy says which of it.
	Strategy TrafficRoutingStrategy `json:"strategy"`
}

// TrafficRoutingPhase says what a TrafficRouting is about.
type TrafficRoutingPhase string

const (
	// TrafficRoutingPhaseInitial looks for its Services and routes.
	TrafficRoutingPhaseInitial TrafficRoutingPhase = "Initial"
	// TrafficRoutingPhaseHealthy has found them; traffic is as it was.
	TrafficRoutingPhaseHealthy TrafficRoutingPhase = "Healthy"
	// TrafficRoutingPhaseProgressing moves traffic, as long as a Rollout holds it by a finalizer.
	TrafficRoutingPhaseProgressing TrafficRoutingPhase = "Progressing"
	// TrafficRoutingPhaseFinalizing moves traffic back.
	TrafficRoutingPhaseFinalizing TrafficRoutingPhase = "Finalizing"
	// TrafficRoutingPhaseTerminating is being deleted and moves traffic back.
	TrafficRoutingPhaseTerminating TrafficRoutingPhase = "Terminating"
)

// TrafficRoutingStatus is what was seen of a TrafficRouting.
type TrafficRoutingStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is Initial, Healthy, Progressing, Finalizing or Terminating.
	// +optional
	Phase TrafficRoutingPhase `json:"phase,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.message"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// TrafficRouting moves traffic while a Rollout that refers to it has a release under way. Several Rollouts
// may share one.
type TrafficRouting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TrafficRoutingSpec   `json:"spec,omitempty"`
	Status TrafficRoutingStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// TrafficRoutingList is a list of TrafficRoutings.
type TrafficRoutingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TrafficRouting `json:"items"`
}
