// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FleetPlacementSpec says where the target goes and how it is divided.
//
// +kubebuilder:validation:XValidation:rule="(has(self.placementRef)?1:0)+(has(self.clusterSelector)?1:0)+(has(self.clusterNames)?1:0)==1",message="set exactly one of spec.placementRef, spec.clusterSelector and spec.clusterNames"
type FleetPlacementSpec struct {
	// targetRef names the object to place, in this namespace. Immutable; one placement for a target.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.targetRef is immutable: delete this placement and make another"
	TargetRef TargetReference `json:"targetRef"`

	// placementRef names an Open Cluster Management Placement in this namespace; its decisions are
	// the clusters.
	// +optional
	PlacementRef *PlacementReference `json:"placementRef,omitempty"`

	// clusterSelector selects ManagedClusters by label. An empty selector selects all.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusterNames lists ManagedClusters by name. Unknown names show in condition Resolved.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ClusterNames []string `json:"clusterNames,omitempty"`

	// division says how replicas are divided over the clusters.
	// +optional
	// +kubebuilder:default={}
	Division Division `json:"division,omitempty"`

	// overrides change the object for some clusters, in list order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// deletionPolicy says what becomes of the members' objects when this placement or its target
	// is deleted, or when a cluster is no longer selected. Default Cascade.
	// +optional
	// +kubebuilder:default=Cascade
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// adoption says what to do with an object that is already there in a member and not ours.
	// Default IfEqual.
	// +optional
	// +kubebuilder:default=IfEqual
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
}

// TargetReference names an object in the placement's namespace.
type TargetReference struct {
	// apiVersion is group/version.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// PlacementReference names an Open Cluster Management Placement in the same namespace.
type PlacementReference struct {
	// name of the Placement.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// DivisionMode says whether clusters share the replicas or each get all.
// +kubebuilder:validation:Enum=Divided;Duplicated
type DivisionMode string

const (
	// DivisionDivided shares the replicas out among the clusters.
	DivisionDivided DivisionMode = "Divided"
	// DivisionDuplicated gives every cluster the whole object.
	DivisionDuplicated DivisionMode = "Duplicated"
)

// Division says how replicas are divided over clusters.
type Division struct {
	// mode is Divided (default) or Duplicated.
	// +optional
	// +kubebuilder:default=Divided
	Mode DivisionMode `json:"mode,omitempty"`
	// weights of clusters; the first entry that matches a cluster counts. A cluster that none
	// matches has weight 1; weight 0 gives it nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Weights []ClusterWeight `json:"weights,omitempty"`
}

// ClusterWeight gives a weight to the clusters it selects.
type ClusterWeight struct {
	// clusterSelector selects ManagedClusters by label.
	// +required
	ClusterSelector metav1.LabelSelector `json:"clusterSelector"`
	// weight is 0 to 1000000; shares are proportional to it.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight int32 `json:"weight"`
}

// PatchType is the kind of an override's patch.
// +kubebuilder:validation:Enum=StrategicMerge;JSON6902
type PatchType string

const (
	// PatchStrategicMerge is a strategic merge patch; kinds without one get a merge patch.
	PatchStrategicMerge PatchType = "StrategicMerge"
	// PatchJSON6902 is a list of RFC 6902 operations.
	PatchJSON6902 PatchType = "JSON6902"
)

// Override changes the object for the clusters it selects.
type Override struct {
	// clusterSelector selects ManagedClusters by label.
	// +required
	ClusterSelector metav1.LabelSelector `json:"clusterSelector"`
	// type of the patch. Default StrategicMerge.
	// +optional
	// +kubebuilder:default=StrategicMerge
	Type PatchType `json:"type,omitempty"`
	// patch is an object (StrategicMerge) or a list of operations (JSON6902).
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Patch runtime.RawExtension `json:"patch"`
}

// DeletionPolicy says what becomes of the members' objects.
// +kubebuilder:validation:Enum=Cascade;Orphan
type DeletionPolicy string

const (
	// DeletionCascade deletes the members' objects.
	DeletionCascade DeletionPolicy = "Cascade"
	// DeletionOrphan leaves the members' objects running and lets go of them.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// AdoptionPolicy says what to do with an object that is already there and not ours.
// +kubebuilder:validation:Enum=Never;IfEqual;Always
type AdoptionPolicy string

const (
	// AdoptionNever leaves it alone and reports a conflict.
	AdoptionNever AdoptionPolicy = "Never"
	// AdoptionIfEqual takes it over when the template would change nothing but numbers.
	AdoptionIfEqual AdoptionPolicy = "IfEqual"
	// AdoptionAlways takes it over.
	AdoptionAlways AdoptionPolicy = "Always"
)

// Condition types of a FleetPlacement. FleetPlaced, FleetProgressing and FleetStatusFresh are also
// set on the target.
const (
	// ConditionResolved: the target exists and the clusters are known.
	ConditionResolved = "Resolved"
	// ConditionFleetPlaced: every replica has a place and every slice is written.
	ConditionFleetPlaced = "FleetPlaced"
	// ConditionFleetProgressing: some member has not yet observed, or not yet finished, the newest spec.
	ConditionFleetProgressing = "FleetProgressing"
	// ConditionFleetStatusFresh: every member reports; False names the clusters whose counters are old.
	ConditionFleetStatusFresh = "FleetStatusFresh"
)

// Reasons of the conditions above.
const (
	// ReasonResolved: target and clusters were found.
	ReasonResolved = "Resolved"
	// ReasonTargetNotFound: the target does not exist.
	ReasonTargetNotFound = "TargetNotFound"
	// ReasonTargetNotSupported: objects of this kind cannot be divided.
	ReasonTargetNotSupported = "TargetNotSupported"
	// ReasonTargetTaken: another, older placement names the same target.
	ReasonTargetTaken = "TargetTaken"
	// ReasonUnknownClusters: spec.clusterNames has names that are no ManagedCluster.
	ReasonUnknownClusters = "UnknownClusters"
	// ReasonNoClusters: nothing is selected.
	ReasonNoClusters = "NoClusters"
	// ReasonNoPlacement: no FleetPlacement names the object, so it goes nowhere.
	ReasonNoPlacement = "NoPlacement"
	// ReasonPlaced: every replica has a place.
	ReasonPlaced = "Placed"
	// ReasonInsufficientCapacity: bounds or selectors leave replicas without a place.
	ReasonInsufficientCapacity = "InsufficientCapacity"
	// ReasonInvalidTarget: the target cannot be split; the message says why.
	ReasonInvalidTarget = "InvalidTarget"
	// ReasonRenderFailed: an override could not be applied.
	ReasonRenderFailed = "RenderFailed"
	// ReasonRollingOut: members have still to observe or finish the newest spec.
	ReasonRollingOut = "RollingOut"
	// ReasonComplete: every member finished the newest spec.
	ReasonComplete = "Complete"
	// ReasonConflict: a member has an object of that name which is not ours.
	ReasonConflict = "Conflict"
	// ReasonApplyFailed: a member could not apply its share.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonFresh: every member reports.
	ReasonFresh = "Fresh"
	// ReasonStale: some members have not reported of late.
	ReasonStale = "Stale"
	// ReasonSpilled: replicas of a WorkloadSpread's subset went on to later ones; the message says why.
	ReasonSpilled = "Spilled"
	// ReasonDeleting: shares are being taken back.
	ReasonDeleting = "Deleting"
)

// FleetPlacementStatus is what became of the placement.
type FleetPlacementStatus struct {
	// conditions: Resolved, FleetPlaced, FleetProgressing, FleetStatusFresh.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// selectedClusters is how many clusters are selected.
	// +optional
	SelectedClusters int32 `json:"selectedClusters,omitempty"`
	// appliedClusters is how many of them have applied their newest share.
	// +optional
	AppliedClusters int32 `json:"appliedClusters,omitempty"`
	// replicas, readyReplicas, updatedReplicas and updatedReadyReplicas are sums over clusters.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// clusters holds the detail of at most 50 clusters: those in trouble first, then by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=50
	Clusters []ClusterShareStatus `json:"clusters,omitempty"`
}

// ClusterState is the state of one cluster's share.
// +kubebuilder:validation:Enum=Pending;Applied;Conflict;Failed;Stale;Deleting
type ClusterState string

const (
	// ClusterPending: the member has not yet applied its newest share.
	ClusterPending ClusterState = "Pending"
	// ClusterApplied: the member has applied its newest share.
	ClusterApplied ClusterState = "Applied"
	// ClusterConflict: an object that is not ours stands in the way.
	ClusterConflict ClusterState = "Conflict"
	// ClusterFailed: the member could not apply its share.
	ClusterFailed ClusterState = "Failed"
	// ClusterStale: the member has not reported of late; its counters are the last known.
	ClusterStale ClusterState = "Stale"
	// ClusterDeleting: the share is being taken back.
	ClusterDeleting ClusterState = "Deleting"
)

// ClusterShareStatus is what became of one cluster's share.
type ClusterShareStatus struct {
	// name of the ManagedCluster.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// state of the share.
	// +optional
	State ClusterState `json:"state,omitempty"`
	// message says why, when state is not Applied.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// desiredReplicas is the cluster's share.
	// +optional
	DesiredReplicas int32 `json:"desiredReplicas,omitempty"`
	// replicas the cluster has.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas the cluster has.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// updatedReplicas the cluster has.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// updatedReadyReplicas the cluster has.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fp,categories=fleet
// +kubebuilder:printcolumn:name="PLACED",type="string",JSONPath=".status.conditions[?(@.type=='FleetPlaced')].status"
// +kubebuilder:printcolumn:name="CLUSTERS",type="integer",JSONPath=".status.selectedClusters"
// +kubebuilder:printcolumn:name="REPLICAS",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas"
// +kubebuilder:printcolumn:name="FRESH",type="string",JSONPath=".status.conditions[?(@.type=='FleetStatusFresh')].status",priority=1
// +kubebuilder:printcolumn:name="TARGET",type="string",JSONPath=".spec.targetRef.name",priority=1
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// FleetPlacement says to which member clusters one object of its namespace goes, and how it is divided.
type FleetPlacement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FleetPlacementSpec   `json:"spec,omitempty"`
	Status FleetPlacementStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// FleetPlacementList is a list of FleetPlacements.
type FleetPlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FleetPlacement `json:"items"`
}
