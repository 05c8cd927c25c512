// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodProbeMarkerSpec says which containers to probe and what to mark.
type PodProbeMarkerSpec struct {
	// selector matches the labels of pods in the namespace of the object. Immutable; must select by
	// something.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {})",message="cannot be changed: make another PodProbeMarker"
	Selector *metav1.LabelSelector `json:"selector"`
	// probes to run, each in one container of every matched pod. At least one.
	// +patchMergeKey=name
	// +patchStrategy=merge
	Probes []PodContainerProbe `json:"probes" patchMergeKey:"name" patchStrategy:"merge"`
}

// PodContainerProbe is one probe and what its result marks.
type PodContainerProbe struct {
	// name of the probe, unique in the object. No character # in it, and not the type of a condition of
	// Kubernetes or ours.
	Name string `json:"name"`
	// containerName is the container to probe.
	ContainerName string `json:"containerName"`
	// probe is run by the node's agent: exec, httpGet, tcpSocket or grpc. Seconds and thresholds are as for the
	// kubelet's probes; nothing is filled in here, so httpGet needs its path and scheme.
	Probe corev1.Probe `json:"probe"`
	// markerPolicy says which labels and annotations the pod has in which state. Each state once.
	// +optional
	MarkerPolicy []ProbeMarkerPolicy `json:"markerPolicy,omitempty"`
	// podConditionType is the type of the pod condition that mirrors the result. Either this or
	// markerPolicy must be there.
	// +optional
	PodConditionType string `json:"podConditionType,omitempty"`
}

// ProbeMarkerPolicy is what a pod is marked with in one state. The marks of the other state are taken off.
type ProbeMarkerPolicy struct {
	// state is Succeeded or Failed.
	State ProbeState `json:"state"`
	// labels to set.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations to set.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ProbeState is the result of a probe.
type ProbeState string

const (
	// ProbeSucceeded: the probe succeeded as often in a row as its threshold says.
	ProbeSucceeded ProbeState = "Succeeded"
	// ProbeFailed: the probe failed as often in a row as its threshold says, or the container does not run.
	ProbeFailed ProbeState = "Failed"
	// ProbeUnknown: there is no result for this instance of the container yet.
	ProbeUnknown ProbeState = "Unknown"
)

// PodProbeMarkerStatus is what was seen of a PodProbeMarker.
type PodProbeMarkerStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// matchedPods counts the active, initialized and scheduled pods that match.
	// +optional
	MatchedPods int64 `json:"matchedPods,omitempty"`
}

// Finalizers and annotations of PodProbeMarkers and of the pods they match.
const (
	// PodProbeMarkerFinalizer holds a marker until its probes are taken out of the NodePodProbes. The
	// spoke writes and removes it.
	PodProbeMarkerFinalizer = "kruise.io/node-pod-probe-cleanup"
	// PodProbeMarkerAnnotationKey is on serverless pods: the probes as JSON. The pod webhook writes, the
	// virtual kubelet reads and runs them.
	PodProbeMarkerAnnotationKey = "kruise.io/podprobe"
	// PodProbeMarkerListAnnotationKey is on serverless pods: the names of the markers, sorted, joined by
	// commas. The pod webhook writes, people read.
	PodProbeMarkerListAnnotationKey = "kruise.io/podprobemarker-list"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet

// PodProbeMarker probes containers and marks their pods with conditions, labels and annotations.
type PodProbeMarker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PodProbeMarkerSpec   `json:"spec,omitempty"`
	Status PodProbeMarkerStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// PodProbeMarkerList is a list of PodProbeMarkers.
type PodProbeMarkerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodProbeMarker `json:"items"`
}
