// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ConfigMapSetSpec says which content goes to which pods, and how.
type ConfigMapSetSpec struct {
	// selector matches the labels of pods in the namespace of the object. Its matchLabels must not be
	// empty. Immutable.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) ? self.matchLabels : {}) == (has(oldSelf.matchLabels) ? oldSelf.matchLabels : {})",message="cannot be changed: make another ConfigMapSet"
	Selector *metav1.LabelSelector `json:"selector"`
	// data is the content: at least one key, as in a ConfigMap, none that starts with a dot. All revisions
	// that are kept may have 900 KiB together.
	// +kubebuilder:validation:MinProperties=1
	Data map[string]string `json:"data"`
	// customVersion names the content for people. One name is for one content.
	// +optional
	CustomVersion string `json:"customVersion,omitempty"`
	// containers that get the content; at least one. A change reaches new pods only.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	Containers []ConfigMapSetContainer `json:"containers"`
	// reloadSidecarConfig says where the container comes from that unpacks the content. A change reaches
	// new pods only. Default type custom with the spoke's default ConfigMap.
	// +optional
	ReloadSidecarConfig *ReloadSidecarConfig `json:"reloadSidecarConfig,omitempty"`
	// effectPolicy says how new content comes into effect.
	// +optional
	EffectPolicy *EffectPolicy `json:"effectPolicy,omitempty"`
	// revisionHistoryLimit is how many revisions are kept, the current one included. Default 5, 1 to 100.
	// Revisions in use are not dropped: a change is refused when there is no room.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// updateStrategy says which pods get new content, and how many at once.
	// +optional
	UpdateStrategy *ConfigMapSetUpdateStrategy `json:"updateStrategy,omitempty"`
}

// ConfigMapSetContainer is a container that gets the content: by name or by nameFrom.
type ConfigMapSetContainer struct {
	// name of the container.
	// +optional
	Name string `json:"name,omitempty"`
	// nameFrom reads the name from a label or an annotation of the pod, when the pod is made.
	// +optional
	NameFrom *v1beta1.SourceContainerNameSource `json:"nameFrom,omitempty"`
	// mountPath is where the content appears, read-only: an absolute path without "..".
	MountPath string `json:"mountPath"`
}

// ReloadSidecarType says where the reload sidecar comes from.
// +kubebuilder:validation:Enum=k8s;sidecarset;custom;""
type ReloadSidecarType string

const (
	// ReloadSidecarTypeK8s builds it from the fields of config.
	ReloadSidecarTypeK8s ReloadSidecarType = "k8s"
	// ReloadSidecarTypeSidecarSet takes a container that a SidecarSet puts into the pod.
	ReloadSidecarTypeSidecarSet ReloadSidecarType = "sidecarset"
	// ReloadSidecarTypeCustom reads it from a ConfigMap. The default.
	ReloadSidecarTypeCustom ReloadSidecarType = "custom"
)

// ReloadSidecarConfig says where the reload sidecar comes from.
type ReloadSidecarConfig struct {
	// type is k8s, sidecarset or custom (default).
	// +optional
	Type ReloadSidecarType `json:"type,omitempty"`
	// config holds the fields of the type; those of other types stay empty.
	// +optional
	Config *ReloadSidecarOptions `json:"config,omitempty"`
}

// ReloadSidecarOptions are the fields of all types.
type ReloadSidecarOptions struct {
	// name of the container, of type k8s. Default <name of the object>-reload-sidecar.
	// +optional
	Name string `json:"name,omitempty"`
	// image of the container, of type k8s.
	// +optional
	Image string `json:"image,omitempty"`
	// restartPolicy of the container, of type k8s. Heeded in native sidecars only.
	// +optional
	RestartPolicy corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`
	// command of the container, of type k8s. Default the image's.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
	// sidecarSetRef is the container of type sidecarset.
	// +optional
	SidecarSetRef *ReloadSidecarSetRef `json:"sidecarSetRef,omitempty"`
	// configMapRef is the ConfigMap of type custom; its key reload-sidecar holds the container as JSON or
	// YAML.
	// +optional
	ConfigMapRef *ReloadSidecarConfigMapRef `json:"configMapRef,omitempty"`
}

// ReloadSidecarSetRef names a container of a SidecarSet.
type ReloadSidecarSetRef struct {
	// name of the SidecarSet.
	Name string `json:"name"`
	// containerName is the container in it.
	ContainerName string `json:"containerName"`
}

// ReloadSidecarConfigMapRef names a ConfigMap.
type ReloadSidecarConfigMapRef struct {
	// name of the ConfigMap.
	Name string `json:"name"`
	// namespace of the ConfigMap. Default the namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// EffectPolicyType says how new content comes into effect. Compared without regard to case.
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.lowerAscii() in ['restart', 'posthook', 'hotupdate']",message="supported values: ReStart, PostHook, HotUpdate"
type EffectPolicyType string

const (
	// EffectPolicyReStart restarts the sidecar, then the containers. The default; Restart is the same.
	EffectPolicyReStart EffectPolicyType = "ReStart"
	// EffectPolicyPostHook lets the sidecar tell the containers.
	EffectPolicyPostHook EffectPolicyType = "PostHook"
	// EffectPolicyHotUpdate only changes the files: the containers watch them.
	EffectPolicyHotUpdate EffectPolicyType = "HotUpdate"
)

// EffectPolicy says how new content comes into effect.
type EffectPolicy struct {
	// type is ReStart (default), PostHook or HotUpdate.
	// +optional
	Type EffectPolicyType `json:"type,omitempty"`
	// postHook is whom the sidecar tells, of type PostHook only.
	// +optional
	PostHook *ConfigMapSetPostHook `json:"postHook,omitempty"`
}

// ConfigMapSetPostHook is whom the sidecar tells that files changed: all of exactly one list. Hosts are
// the pod's own.
type ConfigMapSetPostHook struct {
	// httpGet: each must answer with a status of 200 to 399.
	// +optional
	// +listType=atomic
	HTTPGet []corev1.HTTPGetAction `json:"httpGet,omitempty"`
	// tcpSocket: each must take a connection.
	// +optional
	// +listType=atomic
	TCPSocket []corev1.TCPSocketAction `json:"tcpSocket,omitempty"`
}

// ConfigMapSetUpdateStrategy says which pods get new content, and how many at once.
type ConfigMapSetUpdateStrategy struct {
	// partition is how many pods of each group stay at the old revision. Percent rounded up. Default 0.
	// +optional
	Partition *intstr.IntOrString `json:"partition,omitempty"`
	// maxUnavailable is how many pods of each group may be unavailable during the update. More than 0;
	// percent rounded up. Default 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// matchLabelKeys are label keys by whose values pods are grouped. Keys of selector.matchLabels are not
	// allowed. Unset means one group.
	// +optional
	// +listType=atomic
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
	// paused starts no more pods; those under way end. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// ConfigMapSetStatus is what was seen of a ConfigMapSet. Only pods that were given the content's volumes
// when they were made count.
type ConfigMapSetStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// currentRevision is the hash of the last content that was rolled out in full.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`
	// currentCustomVersion is its customVersion.
	// +optional
	CurrentCustomVersion string `json:"currentCustomVersion,omitempty"`
	// updateRevision is the hash of spec.data: 16 hexadecimal digits, the same in every cluster.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// updateCustomVersion is its customVersion.
	// +optional
	UpdateCustomVersion string `json:"updateCustomVersion,omitempty"`
	// replicas counts the active pods.
	// +optional
	Replicas int32 `json:"replicas"`
	// updatedReplicas counts those with the update revision in effect.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// readyReplicas counts the ready ones.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// updatedReadyReplicas counts those that are both.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`
	// expectedUpdatedReplicas is how many pods the partition lets be updated, summed over the groups.
	// +optional
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas"`
	// conditions: Progressing, Degraded, UninjectedPods.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=cms,categories=fleet
// +kubebuilder:printcolumn:name="REPLICAS",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="UPDATED",type="integer",JSONPath=".status.updatedReplicas"
// +kubebuilder:printcolumn:name="READY",type="integer",JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="REVISION",type="string",priority=1,JSONPath=".status.updateRevision"
// +kubebuilder:printcolumn:name="PARTITION",type="string",priority=1,JSONPath=".spec.updateStrategy.partition"

// ConfigMapSet releases content to running pods step by step.
type ConfigMapSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ConfigMapSetSpec   `json:"spec,omitempty"`
	Status ConfigMapSetStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// ConfigMapSetList is a list of ConfigMapSets.
type ConfigMapSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigMapSet `json:"items"`
}
