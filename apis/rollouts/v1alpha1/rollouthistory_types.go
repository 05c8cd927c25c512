// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RolloutHistorySpec is what took part in a release.
type RolloutHistorySpec struct {
	// rollout that ran it.
	// +optional
	Rollout RolloutInfo `json:"rollout,omitempty"`
	// workload that was released.
	// +optional
	Workload WorkloadInfo `json:"workload,omitempty"`
	// service whose traffic moved. Empty where none did.
	// +optional
	Service ServiceInfo `json:"service,omitempty"`
	// trafficRouting by which it moved. Empty where none did.
	// +optional
	TrafficRouting TrafficRoutingInfo `json:"trafficRouting,omitempty"`
}

// NameAndSpecData is an object's name and spec.
type NameAndSpecData struct {
	// name of the object.
	// +optional
	Name string `json:"name"`
	// data is its spec at the time.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Data runtime.RawExtension `json:"data,omitempty"`
}

// RolloutInfo is the Rollout of a release.
type RolloutInfo struct {
	// rolloutID is the id of the release.
	// +optional
	RolloutID string `json:"rolloutID"`
	// Its name and spec.
	NameAndSpecData `json:",inline"`
}

// ServiceInfo is the Service of a release.
type ServiceInfo struct {
	// Its name and spec.
	NameAndSpecData `json:",inline"`
}

// WorkloadInfo is the workload of a release.
type WorkloadInfo struct {
	// apiVersion of the workload.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the workload.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Its name and spec.
	NameAndSpecData `json:",inline"`
}

// TrafficRoutingInfo is how the traffic of a release moved.
type TrafficRoutingInfo struct {
	// ingress by which it moved.
	// +optional
	Ingress *IngressInfo `json:"ingress,omitempty"`
	// httpRoute by which it moved.
	// +optional
	HTTPRoute *HTTPRouteInfo `json:"httpRoute,omitempty"`
}

// IngressInfo is the Ingress of a release.
type IngressInfo struct {
	// Its name and spec.
	NameAndSpecData `json:",inline"`
}

// HTTPRouteInfo is the HTTPRoute of a release.
type HTTPRouteInfo struct {
	// Its name and spec.
	NameAndSpecData `json:",inline"`
}

// RolloutHistoryPhaseCompleted is the phase of a history whose steps were all recorded.
const RolloutHistoryPhaseCompleted = "completed"

// RolloutHistoryStatus is how a release went.
type RolloutHistoryStatus struct {
	// phase is empty, or completed once canarySteps are there.
	// +optional
	Phase string `json:"phase,omitempty"`
	// canarySteps are the pods that each step updated.
	// +optional
	CanarySteps []CanaryStepInfo `json:"canarySteps,omitempty"`
}

// CanaryStepInfo is what one step updated.
type CanaryStepInfo struct {
	// canaryStepIndex is the step, counted from 1.
	// +optional
	CanaryStepIndex int32 `json:"canaryStepIndex,omitempty"`
	// pods that it updated.
	// +optional
	Pods []Pod `json:"pods,omitempty"`
}

// Pod is one updated pod.
type Pod struct {
	// name of the pod.
	// +optional
	Name string `json:"name,omitempty"`
	// ip of the pod.
	// +optional
	IP string `json:"ip,omitempty"`
	// nodeName is the pod's node.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet

// RolloutHistory records one release. The last ten of each Rollout are kept.
type RolloutHistory struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RolloutHistorySpec   `json:"spec,omitempty"`
	Status RolloutHistoryStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// RolloutHistoryList is a list of RolloutHistories.
type RolloutHistoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RolloutHistory `json:"items"`
}
