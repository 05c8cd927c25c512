// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// UpdateStrategyType says how subsets get a new template.
// +kubebuilder:validation:Enum=Manual;""
type UpdateStrategyType string

// ManualUpdateStrategyType updates each subset down to its partition.
const ManualUpdateStrategyType UpdateStrategyType = "Manual"

// UnitedDeploymentScheduleStrategyType says how replicas are shared out among subsets.
// +kubebuilder:validation:Enum=Adaptive;Fixed;""
type UnitedDeploymentScheduleStrategyType string

const (
	// AdaptiveUnitedDeploymentScheduleStrategyType moves replicas away from subsets that cannot
	// schedule them.
	AdaptiveUnitedDeploymentScheduleStrategyType UnitedDeploymentScheduleStrategyType = "Adaptive"
	// FixedUnitedDeploymentScheduleStrategyType keeps to the numbers of the spec.
	FixedUnitedDeploymentScheduleStrategyType UnitedDeploymentScheduleStrategyType = "Fixed"
)

// UnitedDeploymentSpec is what a UnitedDeployment should be.
type UnitedDeploymentSpec struct {
	// replicas is the number of pods over all subsets. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// selector matches the pods of all subsets.
	Selector *metav1.LabelSelector `json:"selector"`
	// template of the workload of each subset: exactly one of its fields is set.
	// +optional
	Template SubsetTemplate `json:"template,omitempty"`
	// topology lists the subsets.
	// +optional
	Topology Topology `json:"topology,omitempty"`
	// updateStrategy says how subsets get a new template.
	// +optional
	UpdateStrategy UnitedDeploymentUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many superseded revisions are kept. Default 10.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// SubsetTemplate is the workload each subset gets: exactly one field is set.
type SubsetTemplate struct {
	// statefulSetTemplate makes native StatefulSets.
	// +optional
	StatefulSetTemplate *StatefulSetTemplateSpec `json:"statefulSetTemplate,omitempty"`
	// advancedStatefulSetTemplate makes Advanced StatefulSets.
	// +optional
	AdvancedStatefulSetTemplate *AdvancedStatefulSetTemplateSpec `json:"advancedStatefulSetTemplate,omitempty"`
	// cloneSetTemplate makes CloneSets.
	// +optional
	CloneSetTemplate *CloneSetTemplateSpec `json:"cloneSetTemplate,omitempty"`
	// deploymentTemplate makes native Deployments.
	// +optional
	DeploymentTemplate *DeploymentTemplateSpec `json:"deploymentTemplate,omitempty"`
}

// StatefulSetTemplateSpec is a native StatefulSet without its name.
type StatefulSetTemplateSpec struct {
	// metadata of the workloads.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec of the workloads; replicas and selector are overwritten.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Spec appsv1.StatefulSetSpec `json:"spec"`
}

// AdvancedStatefulSetTemplateSpec is an Advanced StatefulSet without its name.
type AdvancedStatefulSetTemplateSpec struct {
	// metadata of the workloads.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec of the workloads; replicas and selector are overwritten.
	Spec appsv1beta1.StatefulSetSpec `json:"spec"`
}

// CloneSetTemplateSpec is a CloneSet without its name.
type CloneSetTemplateSpec struct {
	// metadata of the workloads.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec of the workloads; replicas and selector are overwritten.
	Spec appsv1beta1.CloneSetSpec `json:"spec"`
}

// DeploymentTemplateSpec is a native Deployment without its name.
type DeploymentTemplateSpec struct {
	// metadata of the workloads.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec of the workloads; replicas and selector are overwritten.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Spec appsv1.DeploymentSpec `json:"spec"`
}

// Topology lists the subsets and how replicas are shared out among them.
type Topology struct {
	// subsets in the order in which replicas are handed out. Names are unique.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	Subsets []Subset `json:"subsets,omitempty" patchMergeKey:"name" patchStrategy:"merge"`
	// scheduleStrategy is Fixed (default) or Adaptive.
	// +optional
	ScheduleStrategy UnitedDeploymentScheduleStrategy `json:"scheduleStrategy,omitempty"`
}

// Subset is one domain: where its pods run and how many.
type Subset struct {
	// name of the subset: a DNS label.
	Name string `json:"name"`
	// nodeSelectorTerm says on which nodes its pods run. Immutable.
	// +optional
	NodeSelectorTerm corev1.NodeSelectorTerm `json:"nodeSelectorTerm,omitempty"`
	// tolerations its pods get. Immutable.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// replicas is a number, or a percentage (rounded half up) of spec.replicas.
	// Not together with minReplicas or maxReplicas, nor with Adaptive.
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`
	// minReplicas is given first, in the order of the subsets. Number or percentage; default 0.
	// +optional
	MinReplicas *intstr.IntOrString `json:"minReplicas,omitempty"`
	// maxReplicas bounds what the subset gets. Number or percentage; unset means no bound.
	// +optional
	MaxReplicas *intstr.IntOrString `json:"maxReplicas,omitempty"`
	// patch is a strategic merge patch on the pod template of this subset.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Patch runtime.RawExtension `json:"patch,omitempty"`
}

// UnitedDeploymentScheduleStrategy says how replicas are shared out among subsets.
type UnitedDeploymentScheduleStrategy struct {
	// type is Fixed (default) or Adaptive.
	// +optional
	Type UnitedDeploymentScheduleStrategyType `json:"type,omitempty"`
	// adaptive tunes type Adaptive.
	// +optional
	Adaptive *AdaptiveUnitedDeploymentStrategy `json:"adaptive,omitempty"`
}

// AdaptiveUnitedDeploymentStrategy tunes type Adaptive.
type AdaptiveUnitedDeploymentStrategy struct {
	// rescheduleCriticalSeconds is how long a pod may be unschedulable. Seconds, default 30.
	// +optional
	RescheduleCriticalSeconds *int32 `json:"rescheduleCriticalSeconds,omitempty"`
	// unschedulableDuration is how long a subset is avoided. Seconds, default 300.
	// +optional
	UnschedulableDuration *int32 `json:"unschedulableDuration,omitempty"`
	// reserveUnschedulablePods keeps unschedulable pods waiting as a reserve. Default false.
	// +optional
	ReserveUnschedulablePods bool `json:"reserveUnschedulablePods,omitempty"`
}

// UnitedDeploymentUpdateStrategy says how subsets get a new template.
type UnitedDeploymentUpdateStrategy struct {
	// type is Manual, the only one.
	// +optional
	Type UpdateStrategyType `json:"type,omitempty"`
	// manualUpdate tunes type Manual.
	// +optional
	ManualUpdate *ManualUpdate `json:"manualUpdate,omitempty"`
}

// ManualUpdate holds the partition of each subset.
type ManualUpdate struct {
	// partitions: for each subset name, how many pods stay at the old revision. Default 0.
	// +optional
	Partitions map[string]int32 `json:"partitions,omitempty"`
}

// UnitedDeploymentStatus is what was seen of a UnitedDeployment.
type UnitedDeploymentStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// readyReplicas sums the ready pods of all subsets.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// replicas sums the pods of all subsets, reserved pods left out.
	// +optional
	Replicas int32 `json:"replicas"`
	// updatedReplicas sums the pods of the updated revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// updatedReadyReplicas sums the ready pods of the updated revision.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// reservedPods sums the reserved pods of all subsets.
	// +optional
	ReservedPods int32 `json:"reservedPods,omitempty"`
	// collisionCount counts hash collisions of revision names.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// currentRevision is the name of the last revision that was rolled out in full.
	// +optional
	CurrentRevision string `json:"currentRevision"`
	// subsetReplicas are the replicas of each subset.
	// +optional
	SubsetReplicas map[string]int32 `json:"subsetReplicas,omitempty"`
	// updateStatus is the newest revision and the partition of each subset.
	// +optional
	UpdateStatus *UpdateStatus `json:"updateStatus,omitempty"`
	// subsetStatuses, one for each subset.
	// +optional
	SubsetStatuses []UnitedDeploymentSubsetStatus `json:"subsetStatuses,omitempty"`
	// conditions of the object.
	// +optional
	Conditions []appsv1beta1.Condition `json:"conditions,omitempty"`
	// labelSelector is the selector as a string, for the scale subresource.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
}

// UpdateStatus is the newest revision and the partition of each subset.
type UpdateStatus struct {
	// updatedRevision is the name of the newest revision.
	// +optional
	UpdatedRevision string `json:"updatedRevision,omitempty"`
	// currentPartitions of the subsets.
	// +optional
	CurrentPartitions map[string]int32 `json:"currentPartitions,omitempty"`
}

// UnitedDeploymentSubsetStatus is what was seen of one subset.
type UnitedDeploymentSubsetStatus struct {
	// name of the subset.
	// +optional
	Name string `json:"name,omitempty"`
	// replicas the subset should have.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas of the subset.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// partition the subset should have.
	// +optional
	Partition int32 `json:"partition,omitempty"`
	// reservedPods of the subset.
	// +optional
	ReservedPods int32 `json:"reservedPods,omitempty"`
	// conditions of the subset.
	// +optional
	Conditions []appsv1beta1.Condition `json:"conditions,omitempty"`
}

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.labelSelector
// +kubebuilder:resource:shortName=ud,categories=fleet
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="CURRENT",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// UnitedDeployment sizes several workloads of one kind, each bound to a domain.
type UnitedDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UnitedDeploymentSpec   `json:"spec,omitempty"`
	Status UnitedDeploymentStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// UnitedDeploymentList is a list of UnitedDeployments.
type UnitedDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []UnitedDeployment `json:"items"`
}
