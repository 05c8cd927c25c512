// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// StatefulSetSpec is what an Advanced StatefulSet should be. What v1beta1 knows beyond it is kept in an
// annotation of objects read in this version.
type StatefulSetSpec struct {
	// replicas is the number of pods wanted. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// selector matches the pods of this set. Immutable; must match the template's labels.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {})",message="cannot be changed: make another StatefulSet"
	Selector *metav1.LabelSelector `json:"selector"`
	// template of the pods.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Template corev1.PodTemplateSpec `json:"template"`
	// volumeClaimTemplates: one claim of each per ordinal.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	// serviceName is the headless service of the set. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: make another StatefulSet"
	ServiceName string `json:"serviceName,omitempty"`
	// podManagementPolicy is OrderedReady (default) or Parallel. Immutable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || (self in ['', 'OrderedReady'] && oldSelf in ['', 'OrderedReady'])",message="cannot be changed: make another StatefulSet"
	PodManagementPolicy appsv1.PodManagementPolicyType `json:"podManagementPolicy,omitempty"`
	// updateStrategy says how pods get a new template.
	// +optional
	UpdateStrategy appsv1beta1.StatefulSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many superseded revisions are kept. Default 10.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// StatefulSetStatus is what was seen of an Advanced StatefulSet.
type StatefulSetStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// replicas counts the pods that exist.
	// +optional
	Replicas int32 `json:"replicas"`
	// readyReplicas counts the pods that run and are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// availableReplicas counts pods ready for minReadySeconds with no lifecycle step under way.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// currentReplicas counts pods of the current revision that are not being deleted.
	// +optional
	CurrentReplicas int32 `json:"currentReplicas"`
	// updatedReplicas counts pods of the update revision that are not being deleted.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// currentRevision is the name of the last revision that was rolled out in full.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`
	// updateRevision is the name of the newest revision.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// collisionCount counts hash collisions of revision names.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// conditions of the set.
	// +optional
	Conditions []appsv1beta1.Condition `json:"conditions,omitempty"`
	// labelSelector is the selector as a string, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=sts;asts,categories=fleet
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CONTAINERS",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].name"
// +kubebuilder:printcolumn:name="IMAGES",type="string",priority=1,JSONPath=".spec.template.spec.containers[*].image"

// StatefulSet runs pods that each have an ordinal, a name that stays, and claims of their own, and
// updates them in place or by recreation.
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StatefulSetSpec   `json:"spec,omitempty"`
	Status StatefulSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// StatefulSetList is a list of StatefulSets.
type StatefulSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StatefulSet `json:"items"`
}
