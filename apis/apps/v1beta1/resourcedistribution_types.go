// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceDistributionSpec says what is copied, and where to.
type ResourceDistributionSpec struct {
	// resource is the Secret or ConfigMap to copy, with apiVersion, kind and metadata. Its apiVersion,
	// kind and name are immutable; its namespace is ignored.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Resource runtime.RawExtension `json:"resource"`
	// targets are the namespaces that get a copy. kube-system and kube-public never do.
	Targets ResourceDistributionTargets `json:"targets"`
}

// ResourceDistributionTargets are the namespaces that get a copy: all, or those listed together with
// those selected; always without the excluded ones.
type ResourceDistributionTargets struct {
	// allNamespaces takes in every namespace, whatever the other fields select. Default false.
	// +optional
	AllNamespaces bool `json:"allNamespaces,omitempty"`
	// excludedNamespaces are left out, whatever the other fields say.
	// +optional
	ExcludedNamespaces ResourceDistributionTargetNamespaces `json:"excludedNamespaces,omitempty"`
	// includedNamespaces are taken in by name, whether they exist or not.
	// +optional
	IncludedNamespaces ResourceDistributionTargetNamespaces `json:"includedNamespaces,omitempty"`
	// namespaceSelector takes in namespaces by their labels. Empty selects none.
	// +optional
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// ResourceDistributionTargetNamespaces lists namespaces.
type ResourceDistributionTargetNamespaces struct {
	// list of namespaces.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	List []ResourceDistributionNamespace `json:"list,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// ResourceDistributionNamespace is one namespace.
type ResourceDistributionNamespace struct {
	// name of the namespace.
	// +optional
	Name string `json:"name,omitempty"`
}

// ResourceDistributionConditionType is the type of a condition of a ResourceDistribution. Each is True
// while a namespace has that trouble. The controller always writes all six, in this order.
type ResourceDistributionConditionType string

const (
	// ResourceDistributionGetResourceFailed: a copy could not be read.
	ResourceDistributionGetResourceFailed ResourceDistributionConditionType = "GetResourceFailed"
	// ResourceDistributionCreateResourceFailed: a copy could not be created.
	ResourceDistributionCreateResourceFailed ResourceDistributionConditionType = "CreateResourceFailed"
	// ResourceDistributionUpdateResourceFailed: a copy could not be updated.
	ResourceDistributionUpdateResourceFailed ResourceDistributionConditionType = "UpdateResourceFailed"
	// ResourceDistributionDeleteResourceFailed: a copy could not be deleted.
	ResourceDistributionDeleteResourceFailed ResourceDistributionConditionType = "DeleteResourceFailed"
	// ResourceDistributionConflictOccurred: somebody else's object has the name.
	ResourceDistributionConflictOccurred ResourceDistributionConditionType = "ConflictOccurred"
	// ResourceDistributionNamespaceNotExists: a listed namespace is not there or is being deleted.
	ResourceDistributionNamespaceNotExists ResourceDistributionConditionType = "NamespaceNotExists"
)

// ResourceDistributionReasonSucceeded is the reason of a condition that is False. The reason of one that
// is True is the text of the last error.
const ResourceDistributionReasonSucceeded = "Succeeded"

// ResourceDistributionStatus is what was seen of a ResourceDistribution.
type ResourceDistributionStatus struct {
	// desired counts the namespaces that should have a copy.
	// +optional
	Desired int32 `json:"desired,omitempty"`
	// succeeded counts those that have one as it should be.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// failed counts the others.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: one for each way to fail.
	// +optional
	Conditions []ResourceDistributionCondition `json:"conditions,omitempty"`
}

// ResourceDistributionCondition says which namespaces have one kind of trouble.
type ResourceDistributionCondition struct {
	// type of the condition.
	// +optional
	Type ResourceDistributionConditionType `json:"type"`
	// status is True, False or Unknown.
	// +optional
	Status corev1.ConditionStatus `json:"status"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
	// reason is Succeeded, or the text of the last error.
	// +optional
	Reason string `json:"reason,omitempty"`
	// failedNamespaces are the namespaces that have this trouble.
	// +optional
	FailedNamespaces []string `json:"failedNamespaces,omitempty"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=distributor,scope=Cluster,categories=fleet
// +kubebuilder:printcolumn:name="TOTAL",type="integer",JSONPath=".status.desired"
// +kubebuilder:printcolumn:name="SUCCEED",type="integer",JSONPath=".status.succeeded"
// +kubebuilder:printcolumn:name="FAILED",type="integer",JSONPath=".status.failed"

// ResourceDistribution copies one Secret or ConfigMap into many namespaces and keeps the copies alike.
type ResourceDistribution struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ResourceDistributionSpec   `json:"spec,omitempty"`
	Status ResourceDistributionStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// ResourceDistributionList is a list of ResourceDistributions.
type ResourceDistributionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ResourceDistribution `json:"items"`
}
