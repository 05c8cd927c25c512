// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// SidecarContainer is a container that a SidecarSet puts into pods. The order of the fields, and which
// of them are left out when empty, is that of OpenKruise: the hash that pods carry is made of this JSON.
type SidecarContainer struct {
	// The container itself.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	corev1.Container `json:",inline"`

	// podInjectPolicy says whether it goes before or after the pod's own containers. Default
	// BeforeAppContainer, for init containers AfterAppContainer.
	// +optional
	PodInjectPolicy PodInjectPolicyType `json:"podInjectPolicy,omitempty"`
	// upgradeStrategy says how the container gets a new image.
	// +optional
	UpgradeStrategy SidecarContainerUpgradeStrategy `json:"upgradeStrategy,omitempty"`
	// shareVolumePolicy says whether it mounts what the pod's own containers mount.
	// +optional
	ShareVolumePolicy ShareVolumePolicy `json:"shareVolumePolicy,omitempty"`
	// shareVolumeDevicePolicy says whether it gets the block devices of the pod's own containers.
	// Unset means disabled.
	// +optional
	ShareVolumeDevicePolicy *ShareVolumePolicy `json:"shareVolumeDevicePolicy,omitempty"`
	// transferEnv lists environment variables to copy from the pod's own containers.
	// +optional
	TransferEnv []TransferEnvVar `json:"transferEnv,omitempty"`
	// resourcesPolicy computes the resources from those of the pod's own containers. Not together with
	// resources; for init containers only where restartPolicy is Always.
	// +optional
	ResourcesPolicy *ResourcesPolicy `json:"resourcesPolicy,omitempty"`
}

// PodInjectPolicyType says where in the list of containers a sidecar goes.
type PodInjectPolicyType string

const (
	// BeforeAppContainerType puts it before the pod's own containers.
	BeforeAppContainerType PodInjectPolicyType = "BeforeAppContainer"
	// AfterAppContainerType puts it after the pod's own containers.
	AfterAppContainerType PodInjectPolicyType = "AfterAppContainer"
)

// SidecarContainerUpgradeType says how a sidecar gets a new image.
type SidecarContainerUpgradeType string

const (
	// SidecarContainerColdUpgrade restarts the container with the new image. The default.
	SidecarContainerColdUpgrade SidecarContainerUpgradeType = "ColdUpgrade"
	// SidecarContainerHotUpgrade runs the new image in an idle twin, then empties the old container.
	SidecarContainerHotUpgrade SidecarContainerUpgradeType = "HotUpgrade"
)

// SidecarContainerUpgradeStrategy says how a sidecar gets a new image.
type SidecarContainerUpgradeStrategy struct {
	// upgradeType is ColdUpgrade (default) or HotUpgrade. Immutable.
	// +optional
	UpgradeType SidecarContainerUpgradeType `json:"upgradeType,omitempty"`
	// hotUpgradeEmptyImage is the image of the idle twin of type HotUpgrade.
	// +optional
	HotUpgradeEmptyImage string `json:"hotUpgradeEmptyImage,omitempty"`
}

// ShareVolumePolicyType switches sharing on and off.
type ShareVolumePolicyType string

const (
	// ShareVolumePolicyEnabled shares.
	ShareVolumePolicyEnabled ShareVolumePolicyType = "enabled"
	// ShareVolumePolicyDisabled does not. The default.
	ShareVolumePolicyDisabled ShareVolumePolicyType = "disabled"
)

// ShareVolumePolicy switches the sharing of volumes on and off.
type ShareVolumePolicy struct {
	// type is enabled or disabled (default).
	// +optional
	Type ShareVolumePolicyType `json:"type,omitempty"`
}

// TransferEnvVar names environment variables of one container of the pod.
type TransferEnvVar struct {
	// sourceContainerName is the container to copy from.
	// +optional
	SourceContainerName string `json:"sourceContainerName,omitempty"`
	// sourceContainerNameFrom reads that name from the pod.
	// +optional
	SourceContainerNameFrom *SourceContainerNameSource `json:"sourceContainerNameFrom,omitempty"`
	// envName is one variable to copy.
	// +optional
	EnvName string `json:"envName,omitempty"`
	// envNames are more of them.
	// +optional
	EnvNames []string `json:"envNames,omitempty"`
}

// SourceContainerNameSource reads the name of a container from the pod.
type SourceContainerNameSource struct {
	// fieldRef is a label or an annotation of the pod: metadata.labels['key'] or
	// metadata.annotations['key'].
	// +optional
	FieldRef *corev1.ObjectFieldSelector `json:"fieldRef,omitempty"`
}

// TargetContainersModeType says how the resources of several containers become one number.
// +kubebuilder:validation:Enum=sum;max
type TargetContainersModeType string

const (
	// TargetContainersModeSum adds them up.
	TargetContainersModeSum TargetContainersModeType = "sum"
	// TargetContainersModeMax takes the largest.
	TargetContainersModeMax TargetContainersModeType = "max"
)

// ResourcesPolicy computes the resources of a sidecar when it is put into a pod.
type ResourcesPolicy struct {
	// targetContainersMode is sum or max.
	TargetContainersMode TargetContainersModeType `json:"targetContainersMode"`
	// targetContainersNameRegex picks the containers to look at, by a part of their names. Default .*;
	// sidecars of SidecarSets and plain init containers are never looked at.
	// +optional
	// +kubebuilder:default=".*"
	TargetContainersNameRegex string `json:"targetContainersNameRegex,omitempty"`
	// resourcesExpr holds the expressions.
	ResourcesExpr ResourcesExpr `json:"resourcesExpr"`
}

// ResourcesExpr holds expressions for limits and requests; at least one of them is set.
type ResourcesExpr struct {
	// limits of the sidecar. A target without the limit leaves the sidecar without it as well.
	// +optional
	Limits *ResourceExprLimits `json:"limits,omitempty"`
	// requests of the sidecar. A target without the request counts as 0.
	// +optional
	Requests *ResourceExprRequests `json:"requests,omitempty"`
}

// ResourceExprLimits are expressions for limits.
type ResourceExprLimits struct {
	// cpu is an expression in cpu, such as max(cpu*50%, 50m). A plain number means cores.
	// +optional
	CPU string `json:"cpu,omitempty"`
	// memory is an expression in memory, such as 200Mi. A plain number means bytes.
	// +optional
	Memory string `json:"memory,omitempty"`
}

// ResourceExprRequests are expressions for requests.
type ResourceExprRequests struct {
	// cpu is an expression in cpu, such as max(cpu*50%, 50m). A plain number means cores.
	// +optional
	CPU string `json:"cpu,omitempty"`
	// memory is an expression in memory, such as 100Mi. A plain number means bytes.
	// +optional
	Memory string `json:"memory,omitempty"`
}
