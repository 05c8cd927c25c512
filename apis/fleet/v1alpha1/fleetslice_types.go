// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// FleetSliceSpec is one member's share of one hub object.
type FleetSliceSpec struct {
	// epoch of the hub. An agent deletes nothing on the word of a lower epoch than it has seen.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Epoch int64 `json:"epoch,omitempty"`
	// source is the hub object this is a share of.
	// +required
	Source SliceSource `json:"source"`
	// objects are the member's objects, complete but for the numbers in split and partitions.
	// The first is the one whose counters are reported; the others are applied before it.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XPreserveUnknownFields
	Objects []runtime.RawExtension `json:"objects"`
	// split holds the replicas of each subset, or of the whole object under the name "".
	// Absent: the object is a whole copy.
	// +optional
	// +listType=map
	// +listMapKey=subset
	// +kubebuilder:validation:MaxItems=1000
	Split []SubsetReplicas `json:"split,omitempty"`
	// partitions holds how many pods of each subset stay at the old revision.
	// +optional
	// +listType=map
	// +listMapKey=subset
	// +kubebuilder:validation:MaxItems=1000
	Partitions []SubsetPartition `json:"partitions,omitempty"`
	// adoption says what to do with an object that is already there and not ours.
	// +optional
	// +kubebuilder:default=IfEqual
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// deletionPolicy says what becomes of the objects when the slice is deleted.
	// +optional
	// +kubebuilder:default=Cascade
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// SliceSource is the hub object a slice is a share of.
type SliceSource struct {
	// apiVersion of the hub object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind of the hub object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// namespace of the hub object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the hub object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the hub object.
	// +required
	UID types.UID `json:"uid"`
	// generation of the hub object when the share was last changed; a change that leaves this
	// share as it is does not raise it.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// revision is the hub's hash of the pod template.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`
}

// SubsetReplicas is the number of replicas of one subset in one member.
type SubsetReplicas struct {
	// subset name; "" is the whole object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Subset string `json:"subset"`
	// replicas of the subset in this member.
	// +required
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas"`
}

// SubsetPartition is the number of pods of one subset in one member that stay at the old revision.
type SubsetPartition struct {
	// subset name; "" is the whole object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Subset string `json:"subset"`
	// partition of the subset in this member.
	// +required
	// +kubebuilder:validation:Minimum=0
	Partition int32 `json:"partition"`
}

// SliceConditionApplied is True when the member has applied the slice's newest generation.
const SliceConditionApplied = "Applied"

// Reasons of condition Applied.
const (
	// SliceReasonApplied: the objects are as the slice says.
	SliceReasonApplied = "Applied"
	// SliceReasonConflict: an object is there that is not ours and may not be adopted.
	SliceReasonConflict = "Conflict"
	// SliceReasonRejected: the member's API server refused an object.
	SliceReasonRejected = "Rejected"
	// SliceReasonUnreadable: the slice cannot be understood.
	SliceReasonUnreadable = "Unreadable"
	// SliceReasonRetrying: the member's API server could not be asked; it will be asked again.
	SliceReasonRetrying = "Retrying"
)

// FleetSliceStatus is what the member's agent reports.
type FleetSliceStatus struct {
	// conditions: Applied.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the slice this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// objectGeneration is the generation of the member's first object.
	// +optional
	ObjectGeneration int64 `json:"objectGeneration,omitempty"`
	// objectObservedGeneration is the generation its controller has observed.
	// +optional
	ObjectObservedGeneration int64 `json:"objectObservedGeneration,omitempty"`
	// currentRevision is the member's name of the revision it last rolled out in full.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CurrentRevision string `json:"currentRevision,omitempty"`
	// updatedRevision is the member's name of the newest revision.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	UpdatedRevision string `json:"updatedRevision,omitempty"`
	// subsets holds the counters of each subset, or of the whole object under the name "".
	// +optional
	// +listType=map
	// +listMapKey=subset
	// +kubebuilder:validation:MaxItems=1000
	Subsets []SubsetCounters `json:"subsets,omitempty"`
	// spread is what the WorkloadSpread among the objects says of its subsets.
	// +optional
	// +listType=map
	// +listMapKey=subset
	// +kubebuilder:validation:MaxItems=1000
	Spread []SpreadCounters `json:"spread,omitempty"`
	// worst are the commonest reasons why pods are not ready, at most five.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Worst []Trouble `json:"worst,omitempty"`
}

// SubsetCounters counts the pods of one subset in one member.
type SubsetCounters struct {
	// subset name; "" is the whole object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Subset string `json:"subset"`
	// replicas there are.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas among them.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// updatedReplicas: those of the newest revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// updatedReadyReplicas: the ready ones of the newest revision.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// unavailableReplicas: replicas wanted but not available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`
	// partition in force.
	// +optional
	Partition int32 `json:"partition,omitempty"`
}

// SpreadCounters counts the pods of one subset of a WorkloadSpread in one member.
type SpreadCounters struct {
	// subset name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Subset string `json:"subset"`
	// replicas there are.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// missingReplicas is how many more the subset takes; -1 means any number.
	// +optional
	MissingReplicas int32 `json:"missingReplicas,omitempty"`
	// unschedulableReplicas have found no node for longer than the WorkloadSpread's
	// rescheduleCriticalSeconds.
	// +optional
	UnschedulableReplicas int32 `json:"unschedulableReplicas,omitempty"`
}

// Trouble is one reason why pods are not ready.
type Trouble struct {
	// reason in one word.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// pods it holds for.
	// +optional
	Pods int32 `json:"pods,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fsl,categories=fleet
// +kubebuilder:printcolumn:name="APPLIED",type="string",JSONPath=".status.conditions[?(@.type=='Applied')].status"
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.source.kind"
// +kubebuilder:printcolumn:name="NAMESPACE",type="string",JSONPath=".spec.source.namespace"
// +kubebuilder:printcolumn:name="SOURCE",type="string",JSONPath=".spec.source.name"
// +kubebuilder:printcolumn:name="REASON",type="string",JSONPath=".status.conditions[?(@.type=='Applied')].reason",priority=1
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// FleetSlice carries one hub object's share to one member cluster. Its namespace is the managed
// cluster's on the hub; the hub writes its spec, the member's agent its status.
type FleetSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FleetSliceSpec   `json:"spec,omitempty"`
	Status FleetSliceStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// FleetSliceList is a list of FleetSlices.
type FleetSliceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FleetSlice `json:"items"`
}
