// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePodProbeSpec is what the agent of one node should probe. The spoke writes.
type NodePodProbeSpec struct {
	// podProbes, one for each pod.
	// +optional
	// +patchMergeKey=uid
	// +patchStrategy=merge
	PodProbes []PodProbe `json:"podProbes,omitempty" patchMergeKey:"uid" patchStrategy:"merge"`
}

// PodProbe is what to probe in one pod.
type PodProbe struct {
	// name of the pod.
	Name string `json:"name"`
	// namespace of the pod.
	Namespace string `json:"namespace"`
	// uid of the pod.
	UID string `json:"uid"`
	// IP of the pod; empty while it has none.
	IP string `json:"IP"`
	// probes to run.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	Probes []ContainerProbe `json:"probes,omitempty" patchMergeKey:"name" patchStrategy:"merge"`
}

// ContainerProbe is one probe in one container.
type ContainerProbe struct {
	// name is <PodProbeMarker>#<its probe>, or <pod>-<container> for a liveness probe.
	Name string `json:"name"`
	// containerName is the container to probe.
	ContainerName string `json:"containerName"`
	// probe to run; its ports are numbers.
	Probe corev1.Probe `json:"probe"`
}

// NodePodProbeStatus is what the node's agent has found. The node agent writes.
type NodePodProbeStatus struct {
	// podProbeStatuses, one for each pod with results.
	// +optional
	// +patchMergeKey=uid
	// +patchStrategy=merge
	PodProbeStatuses []PodProbeStatus `json:"podProbeStatuses,omitempty" patchMergeKey:"uid" patchStrategy:"merge"`
}

// PodProbeStatus holds the results of one pod.
type PodProbeStatus struct {
	// name of the pod.
	// +optional
	Name string `json:"name"`
	// namespace of the pod.
	// +optional
	Namespace string `json:"namespace"`
	// uid of the pod.
	// +optional
	UID string `json:"uid"`
	// probeStates, one for each probe with a result.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	ProbeStates []ContainerProbeState `json:"probeStates,omitempty" patchMergeKey:"name" patchStrategy:"merge"`
}

// ContainerProbeState is the result of one probe.
type ContainerProbeState struct {
	// name is <PodProbeMarker>#<its probe>, or <pod>-<container> for a liveness probe.
	// +optional
	Name string `json:"name"`
	// state is Succeeded, Failed or Unknown.
	// +optional
	State ProbeState `json:"state"`
	// lastProbeTime is when the probe last ran, or a little before: it is not written for itself.
	// +optional
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty"`
	// lastTransitionTime is when state last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// message is the output of the probe, at most 1024 bytes.
	// +optional
	Message string `json:"message,omitempty"`
	// containerID is the instance of the container that was probed: runtime://id. OpenKruise does not write
	// it.
	// +optional
	ContainerID string `json:"containerID,omitempty"`
}

// Reasons of the node agent's events on pods.
const (
	// KruiseProbeSucceededReason: a probe succeeds now.
	KruiseProbeSucceededReason = "KruiseProbeSucceeded"
	// KruiseProbeFailedReason: a probe fails now.
	KruiseProbeFailedReason = "KruiseProbeFailed"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fleet

// NodePodProbe carries probes to the agent of one node, and their results back. It has the node's name.
type NodePodProbe struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodePodProbeSpec   `json:"spec,omitempty"`
	Status NodePodProbeStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// NodePodProbeList is a list of NodePodProbes.
type NodePodProbeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodePodProbe `json:"items"`
}
