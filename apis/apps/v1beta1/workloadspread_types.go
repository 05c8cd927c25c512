// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpreadSpec is how the pods of a workload should be spread.
type WorkloadSpreadSpec struct {
	// targetRef is the workload whose pods are spread. Only the version in apiVersion can be changed.
	TargetReference *TargetReference `json:"targetRef"`
	// targetFilter takes in only some pods of the workload.
	// +optional
	TargetFilter *TargetFilter `json:"targetFilter,omitempty"`
	// subsets in the order in which they are filled; they are emptied from the last.
	Subsets []WorkloadSpreadSubset `json:"subsets"`
	// scheduleStrategy is Fixed (default) or Adaptive.
	// +optional
	ScheduleStrategy WorkloadSpreadScheduleStrategy `json:"scheduleStrategy,omitempty"`
}

// TargetReference names an object of the same namespace.
// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind && self.name == oldSelf.name",message="kind and name cannot be changed: make another object"
type TargetReference struct {
	// apiVersion is the group and version of the object.
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
}

// TargetFilter takes in only some pods of a workload.
type TargetFilter struct {
	// selector selects the pods that are taken in. Unset means all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// replicasPathList are the paths of the workload whose numbers, added up, are how many pods are
	// taken in: dotted, with indexes for lists (spec.roles.0.replicas). Unset means the workload's replicas.
	// +optional
	ReplicasPathList []string `json:"replicasPathList,omitempty"`
}

// WorkloadSpreadScheduleStrategyType says whether pods leave subsets that cannot schedule them.
// +kubebuilder:validation:Enum=Adaptive;Fixed;""
type WorkloadSpreadScheduleStrategyType string

const (
	// AdaptiveWorkloadSpreadScheduleStrategyType moves pods away from subsets that cannot schedule them.
	AdaptiveWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Adaptive"
	// FixedWorkloadSpreadScheduleStrategyType leaves pods in the subset they were given.
	FixedWorkloadSpreadScheduleStrategyType WorkloadSpreadScheduleStrategyType = "Fixed"
)

// WorkloadSpreadScheduleStrategy says whether pods leave subsets that cannot schedule them.
type WorkloadSpreadScheduleStrategy struct {
	// type is Fixed (default) or Adaptive.
	// +optional
	Type WorkloadSpreadScheduleStrategyType `json:"type,omitempty"`
	// adaptive tunes type Adaptive.
	// +optional
	Adaptive *AdaptiveWorkloadSpreadStrategy `json:"adaptive,omitempty"`
}

// AdaptiveWorkloadSpreadStrategy tunes type Adaptive.
type AdaptiveWorkloadSpreadStrategy struct {
	// disableSimulationSchedule has no effect: scheduling is not simulated. Default false.
	// +optional
	DisableSimulationSchedule bool `json:"disableSimulationSchedule,omitempty"`
	// rescheduleCriticalSeconds is how long a pod may be unschedulable before it is deleted and its
	// subset avoided for five minutes. Seconds; unset or 0 means for ever. With n subsets at most
	// 295/(n-1), with one subset 2147483647.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty"`
}

// WorkloadSpreadSubset is one domain: where its pods run, how many, and what else they get.
type WorkloadSpreadSubset struct {
	// name of the subset, unique among them.
	Name string `json:"name"`
	// requiredNodeSelector says on which nodes its pods may run; it is added to the pod's own terms.
	// +optional
	RequiredNodeSelector *corev1.NodeSelectorTerm `json:"requiredNodeSelector,omitempty"`
	// preferredNodeSelector says on which nodes its pods should rather run. Weights are 1 to 100.
	// +optional
	PreferredNodeSelector []corev1.PreferredSchedulingTerm `json:"preferredNodeSelector,omitempty"`
	// tolerations its pods get besides their own.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// maxReplicas is how many pods the subset takes. A number, or a percentage of the workload's
	// replicas rounded up; all subsets use the same form. Unset means no bound.
	// +optional
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty"`
	// patch is a strategic merge patch on the pods of this subset.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Patch runtime.RawExtension `json:"patch,omitempty"`
}

// WorkloadSpreadStatus is what was seen of a WorkloadSpread.
type WorkloadSpreadStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// subsetStatuses over all versions of the pods, in the order of the subsets.
	// +optional
	SubsetStatuses []WorkloadSpreadSubsetStatus `json:"subsetStatuses,omitempty"`
	// versionedSubsetStatuses for each version of the pods: the books that pod admission goes by.
	// +optional
	// +k8s:conversion-gen=false
	VersionedSubsetStatuses map[string][]WorkloadSpreadSubsetStatus `json:"versionedSubsetStatuses,omitempty"`
}

// WorkloadSpreadSubsetStatus is what was seen of one subset.
type WorkloadSpreadSubsetStatus struct {
	// name of the subset.
	// +optional
	Name string `json:"name"`
	// replicas counts the active pods.
	// +optional
	Replicas int32 `json:"replicas"`
	// conditions of the subset: Schedulable.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// missingReplicas is how many more pods the subset takes; -1 means any number.
	// +optional
	MissingReplicas int32 `json:"missingReplicas"`
	// creatingPods are pods let in and not yet seen, by name or by the UID in their annotation, with the
	// time they were let in. Forgotten after 30 seconds.
	// +optional
	CreatingPods map[string]metav1.Time `json:"creatingPods,omitempty"`
	// deletingPods are pods whose deletion was let through and not yet seen, by name, with the time.
	// Forgotten after 15 seconds.
	// +optional
	DeletingPods map[string]metav1.Time `json:"deletingPods,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ws,categories=fleet
// +kubebuilder:printcolumn:name="WorkloadName",type="string",JSONPath=".spec.targetRef.name"
// +kubebuilder:printcolumn:name="WorkloadKind",type="string",JSONPath=".spec.targetRef.kind"
// +kubebuilder:printcolumn:name="Adaptive",type="boolean",JSONPath=".spec.scheduleStrategy.type[?(@ == \"Adaptive\")]"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// WorkloadSpread spreads the pods of an existing workload over domains as they are created.
type WorkloadSpread struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WorkloadSpreadSpec   `json:"spec,omitempty"`
	Status WorkloadSpreadStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// WorkloadSpreadList is a list of WorkloadSpreads.
type WorkloadSpreadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadSpread `json:"items"`
}
