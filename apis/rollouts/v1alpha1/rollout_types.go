// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// RolloutSpec says which workload is released in which steps.
type RolloutSpec struct {
	// objectRef holds the workload. One Rollout a workload; immutable while a release is under way.
	ObjectRef WorkloadTarget `json:"objectRef"`
	// strategy says in which steps.
	Strategy RolloutStrategy `json:"strategy"`
	// rolloutID is not read any more: label the workload instead.
	// +optional
	DeprecatedRolloutID string `json:"rolloutID,omitempty"`
	// disabled stops watching the workload: a release under way ends by the workload's own strategy.
	// Default false.
	// +optional
	// +kubebuilder:default=false
	Disabled bool `json:"disabled"`
}

// WorkloadTarget holds a workload.
type WorkloadTarget struct {
	// workloadRef is the workload, in the namespace of the object.
	// +optional
	WorkloadRef *v1beta1.ObjectRef `json:"workloadRef,omitempty"`
}

// RolloutStrategy says in which steps a workload is released. Annotation rollouts.kruise.io/rolling-style says
// how new pods come to be: partition or canary (default).
type RolloutStrategy struct {
	// paused stops between steps. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// canary holds the steps.
	// +optional
	Canary *CanaryStrategy `json:"canary,omitempty"`
}

// CanaryStrategy replaces pods step by step.
type CanaryStrategy struct {
	// steps in their order, at least one.
	// +optional
	Steps []CanaryStep `json:"steps,omitempty"`
	// trafficRoutings say whose traffic the steps move. At most one; immutable while a release is under way.
	// +optional
	TrafficRoutings []v1beta1.TrafficRoutingRef `json:"trafficRoutings,omitempty"`
	// failureThreshold is how many of the updated pods may be not ready. Percent rounded up. Default 0.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// patchPodTemplateMetadata is merged into the template of the extra workload.
	// +optional
	PatchPodTemplateMetadata *v1beta1.PatchPodTemplateMetadata `json:"patchPodTemplateMetadata,omitempty"`
	// disableGenerateCanaryService uses the stable Service for the new pods as well. Default false.
	// +optional
	DisableGenerateCanaryService bool `json:"disableGenerateCanaryService,omitempty"`
}

// CanaryStep is one step. At least one of weight and replicas is set.
type CanaryStep struct {
	// Which traffic goes to the new pods.
	TrafficRoutingStrategy `json:",inline"`
	// replicas is how many pods are new at the end of the step. Default weight percent of the workload's
	// replicas.
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`
	// pause at the end of the step.
	// +optional
	Pause v1beta1.RolloutPause `json:"pause,omitempty"`
}

// TrafficRoutingStrategy says which traffic goes to the new pods. matches win over weight.
type TrafficRoutingStrategy struct {
	// weight is the share of the requests in percent, 1 to 100.
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// requestHeaderModifier changes headers of requests to the new pods, where the provider can.
	// +optional
	RequestHeaderModifier *v1beta1.HTTPHeaderFilter `json:"requestHeaderModifier,omitempty"`
	// matches pick requests: one that fits any of them goes to the new pods.
	// +optional
	Matches []HTTPRouteMatch `json:"matches,omitempty"`
}

// HTTPRouteMatch picks requests by their headers.
type HTTPRouteMatch struct {
	// headers of the request; all must fit.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Headers []v1beta1.HTTPHeaderMatch `json:"headers,omitempty"`
}

// RolloutStatus is what was seen of a Rollout.
type RolloutStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// canaryStatus is the state of the release.
	// +optional
	CanaryStatus *v1beta1.CanaryStatus `json:"canaryStatus,omitempty"`
	// conditions: Progressing, Succeeded, Terminating.
	// +optional
	Conditions []v1beta1.RolloutCondition `json:"conditions,omitempty"`
	// phase is Initial, Healthy, Progressing, Terminating, Disabling or Disabled.
	// +optional
	Phase v1beta1.RolloutPhase `json:"phase,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="CANARY_STEP",type="integer",JSONPath=".status.canaryStatus.currentStepIndex"
// +kubebuilder:printcolumn:name="CANARY_STATE",type="string",JSONPath=".status.canaryStatus.currentStepState"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.message"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// Rollout releases new versions of one workload in steps.
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RolloutSpec   `json:"spec,omitempty"`
	Status RolloutStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// RolloutList is a list of Rollouts.
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Rollout `json:"items"`
}
