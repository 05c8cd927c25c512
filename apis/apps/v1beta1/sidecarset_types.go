// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SidecarSetSpec is what a SidecarSet should be.
type SidecarSetSpec struct {
	// selector matches the labels of the pods that get the sidecars. Must select by something.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// namespaceSelector matches the labels of the namespaces whose pods get the sidecars. Unset means
	// every namespace; when set it must select by something.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// initContainers are put into new pods; running pods never get them.
	// +optional
	InitContainers []SidecarContainer `json:"initContainers,omitempty"`
	// containers are put into new pods; a new image reaches pods that have them in place.
	// +optional
	Containers []SidecarContainer `json:"containers,omitempty"`
	// volumes that the sidecars mount. A volume of the pod with the same name wins.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// imagePullSecrets are added to those of new pods. They must exist in the namespaces of the pods.
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// injectionStrategy says whether, and which revision of, the sidecars new pods get.
	// +optional
	InjectionStrategy SidecarSetInjectionStrategy `json:"injectionStrategy,omitempty"`
	// updateStrategy says how running pods get new images.
	// +optional
	UpdateStrategy SidecarSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// revisionHistoryLimit is how many revisions are kept. Default 10; less than 1 counts as 1. A
	// revision that a pod or injectionStrategy names is kept beyond it.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// patchPodMetadata are annotations that pods get with the sidecars.
	// +optional
	PatchPodMetadata []SidecarSetPatchPodMetadata `json:"patchPodMetadata,omitempty"`
	// customVersion names the revision of this content for injectionStrategy.revision.customVersion.
	// +optional
	CustomVersion string `json:"customVersion,omitempty"`
}

// SidecarSetPatchPodMetadata is a group of annotations for pods. Labels cannot be set.
type SidecarSetPatchPodMetadata struct {
	// annotations to set. A key may be in one group of the set only.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// patchPolicy says what happens to an annotation the pod has already: Retain (default),
	// Overwrite or MergePatchJson.
	// +optional
	PatchPolicy SidecarSetPatchPolicyType `json:"patchPolicy,omitempty"`
}

// SidecarSetPatchPolicyType says what happens to an annotation the pod has already.
type SidecarSetPatchPolicyType string

const (
	// SidecarSetRetainPatchPolicy leaves it as it is. The default.
	SidecarSetRetainPatchPolicy SidecarSetPatchPolicyType = "Retain"
	// SidecarSetOverwritePatchPolicy replaces it.
	SidecarSetOverwritePatchPolicy SidecarSetPatchPolicyType = "Overwrite"
	// SidecarSetMergePatchJSONPatchPolicy applies the value to it as a JSON merge patch.
	SidecarSetMergePatchJSONPatchPolicy SidecarSetPatchPolicyType = "MergePatchJson"
)

// SidecarSetInjectionStrategy says what new pods get.
type SidecarSetInjectionStrategy struct {
	// paused leaves new pods without the sidecars; pods that have them are still updated. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// revision injects an older revision. Unset means the newest.
	// +optional
	Revision *SidecarSetInjectRevision `json:"revision,omitempty"`
}

// SidecarSetInjectRevision names a revision. At least one of its names is set.
type SidecarSetInjectRevision struct {
	// customVersion is the spec.customVersion of the revision; the newest of several is taken.
	// +optional
	CustomVersion *string `json:"customVersion,omitempty"`
	// revisionName is the name of the ControllerRevision. It wins over customVersion.
	// +optional
	RevisionName *string `json:"revisionName,omitempty"`
	// policy is Always (default) or Partial.
	// +optional
	// +kubebuilder:validation:Enum=Always;Partial
	// +kubebuilder:default=Always
	Policy SidecarSetInjectRevisionPolicy `json:"policy,omitempty"`
}

// SidecarSetInjectRevisionPolicy says which new pods get the named revision.
type SidecarSetInjectRevisionPolicy string

const (
	// AlwaysSidecarSetInjectRevisionPolicy gives it to every new pod. The default.
	AlwaysSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Always"
	// PartialSidecarSetInjectRevisionPolicy gives it to the share of new pods that updateStrategy's
	// selector and partition leave at the old revision.
	PartialSidecarSetInjectRevisionPolicy SidecarSetInjectRevisionPolicy = "Partial"
)

// SidecarSetUpdateStrategyType says whether running pods get new images.
type SidecarSetUpdateStrategyType string

const (
	// NotUpdateSidecarSetStrategyType leaves running pods as they are.
	NotUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "NotUpdate"
	// RollingUpdateSidecarSetStrategyType updates running pods in place. The default.
	RollingUpdateSidecarSetStrategyType SidecarSetUpdateStrategyType = "RollingUpdate"
)

// SidecarSetUpdateStrategy says how running pods get new images.
type SidecarSetUpdateStrategy struct {
	// type is RollingUpdate (default) or NotUpdate.
	// +optional
	Type SidecarSetUpdateStrategyType `json:"type,omitempty"`
	// paused stops updates, not injection. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// selector narrows the update to pods with these labels. Not together with partition.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// partition is how many of the matched pods stay at the old revision. Percent rounded up, but
	// below 100% at least one pod is updated. Default 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`
	// maxUnavailable is how many of the matched pods may be unavailable during the update. Percent
	// rounded up. Default 1; pods that are not ready cost nothing.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// priorityStrategy orders the pods to update.
	// +optional
	PriorityStrategy *UpdatePriorityStrategy `json:"priorityStrategy,omitempty"`
	// scatterStrategy spreads labelled pods over the update order; value * stands for every value.
	// +optional
	ScatterStrategy UpdateScatterStrategy `json:"scatterStrategy,omitempty"`
}

// SidecarSetStatus is what was seen of a SidecarSet.
type SidecarSetStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// matchedPods counts the active pods that have the sidecars.
	// +optional
	MatchedPods int32 `json:"matchedPods"`
	// updatedPods counts matched pods at the newest revision.
	// +optional
	UpdatedPods int32 `json:"updatedPods"`
	// readyPods counts matched pods that are ready and run what they were last told to.
	// +optional
	ReadyPods int32 `json:"readyPods"`
	// updatedReadyPods counts matched pods that are both.
	// +optional
	UpdatedReadyPods int32 `json:"updatedReadyPods,omitempty"`
	// latestRevision is the name of the newest ControllerRevision.
	// +optional
	LatestRevision string `json:"latestRevision,omitempty"`
	// collisionCount counts hash collisions of revision names.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fleet
// +kubebuilder:printcolumn:name="MATCHED",type="integer",JSONPath=".status.matchedPods"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedPods"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyPods"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// SidecarSet puts containers into the pods it matches and updates them in place.
type SidecarSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SidecarSetSpec   `json:"spec,omitempty"`
	Status SidecarSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// SidecarSetList is a list of SidecarSets.
type SidecarSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SidecarSet `json:"items"`
}
