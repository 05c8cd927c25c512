// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// DaemonSetSpec is what an Advanced DaemonSet should be. v1beta1's scaleStrategy.partitionedScaling is
// annotation daemonset.kruise.io/progressive-create-pod here.
type DaemonSetSpec struct {
	// selector matches the pods of this set. Immutable; must match the template's labels.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {})",message="cannot be changed: make another DaemonSet"
	Selector *metav1.LabelSelector `json:"selector"`
	// template of the pods; every node that fits it gets one. Stored as it is sent, without defaults.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`
	// updateStrategy says how pods get a new template. Its rollingUpdateType may also be Surging.
	// +optional
	UpdateStrategy appsv1beta1.DaemonSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// minReadySeconds is how long a pod is ready before it counts as available. Seconds, default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// burstReplicas caps the pods created, and the pods deleted, in one pass. Percent of the nodes that
	// should run a pod, rounded down. Default 250.
	// +optional
	BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty"`
	// revisionHistoryLimit is how many superseded revisions are kept. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// lifecycle hooks: preDelete only. inPlaceUpdate is refused, preNormal has no effect.
	// +optional
	Lifecycle *appsv1beta1.Lifecycle `json:"lifecycle,omitempty"`
}

// SurgingRollingUpdateType is a deprecated rollingUpdateType: Standard with a maxSurge of 1 and a
// maxUnavailable of 0 where they are unset. v1beta1 calls it Standard.
const SurgingRollingUpdateType appsv1beta1.RollingUpdateType = "Surging"

// DaemonSetStatus is what was seen of an Advanced DaemonSet. All numbers count nodes.
type DaemonSetStatus struct {
	// currentNumberScheduled counts nodes that should run a pod and have at least one.
	// +optional
	CurrentNumberScheduled int32 `json:"currentNumberScheduled"`
	// numberMisscheduled counts nodes that should run no pod and have one.
	// +optional
	NumberMisscheduled int32 `json:"numberMisscheduled"`
	// desiredNumberScheduled counts nodes that should run a pod.
	// +optional
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`
	// numberReady counts nodes that should run a pod and have a ready one.
	// +optional
	NumberReady int32 `json:"numberReady"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// updatedNumberScheduled counts nodes whose pod is of the newest revision.
	// +optional
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled"`
	// numberAvailable counts nodes whose pod is available.
	// +optional
	NumberAvailable int32 `json:"numberAvailable,omitempty"`
	// numberUnavailable counts nodes that should run a pod and have no available one.
	// +optional
	NumberUnavailable int32 `json:"numberUnavailable,omitempty"`
	// collisionCount counts hash collisions of revision names.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// conditions of the set.
	// +optional
	Conditions []appsv1beta1.Condition `json:"conditions,omitempty"`
	// daemonSetHash is the short hash of the newest revision.
	// +optional
	DaemonSetHash string `json:"daemonSetHash,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=daemon;ads,categories=fleet
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desiredNumberScheduled"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.currentNumberScheduled"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.numberReady"
// +kubebuilder:printcolumn:name="UP-TO-DATE",type="integer",JSONPath=".status.updatedNumberScheduled"
// +kubebuilder:printcolumn:name="AVAILABLE",type="integer",JSONPath=".status.numberAvailable"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image"

// DaemonSet runs one pod on every node that fits, and updates them node by node.
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DaemonSetSpec   `json:"spec,omitempty"`
	Status DaemonSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// DaemonSetList is a list of DaemonSets.
type DaemonSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DaemonSet `json:"items"`
}
