// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels and annotations of SidecarSets and of the pods they match.
const (
	// SidecarSetHashAnnotation is on SidecarSets and their ControllerRevisions: the hash of the
	// containers; admission writes. On pods: a JSON map of set name to SidecarSetUpgradeSpec; the pod
	// webhook and the SidecarSet controller write, the controller and the node agent read.
	SidecarSetHashAnnotation = "kruise.io/sidecarset-hash"
	// SidecarSetHashWithoutImageAnnotation is SidecarSetHashAnnotation with all images blanked: a pod
	// where it differs cannot be updated in place. Written and read as that one.
	SidecarSetHashWithoutImageAnnotation = "kruise.io/sidecarset-hash-without-image"
	// SidecarSetListAnnotation is on pods: the names of the sets they got sidecars of, sorted, joined
	// by commas. The pod webhook writes, the SidecarSet controller reads.
	SidecarSetListAnnotation = "kruise.io/sidecarset-injected-list"
	// SidecarSetInPlaceUpdateStateAnnotation is on pods: a JSON map of set name to the state of its last
	// in-place update. The SidecarSet controller writes and reads.
	SidecarSetInPlaceUpdateStateAnnotation = "kruise.io/sidecarset-inplace-update-state"
	// SidecarSetWorkingHotUpgradeContainerAnnotation is on pods: a JSON map of sidecar name to the twin
	// that works. The pod webhook and the SidecarSet controller write, the controller reads.
	SidecarSetWorkingHotUpgradeContainerAnnotation = "kruise.io/sidecarset-working-hotupgrade-container"
	// SidecarSetVersionAnnotationPrefix and a container's name is on pods: the version of a hot upgrade
	// twin, 0 for the idle one. Webhook and controller write, the twin reads it as an environment variable.
	SidecarSetVersionAnnotationPrefix = "version.sidecarset.kruise.io/"
	// SidecarSetVersionAltAnnotationPrefix and a container's name is on pods: the version of the other twin.
	SidecarSetVersionAltAnnotationPrefix = "versionalt.sidecarset.kruise.io/"
	// SidecarSetNameLabel is on ControllerRevisions: the name of their SidecarSet. The SidecarSet
	// controller writes and reads.
	SidecarSetNameLabel = "kruise.io/sidecarset-name"
	// SidecarSetCustomVersionLabel is on ControllerRevisions: spec.customVersion; the controller writes,
	// pod webhook and admission read. On v1alpha1 SidecarSets it is that version's way to say
	// spec.customVersion; users write.
	SidecarSetCustomVersionLabel = "apps.kruise.io/sidecarset-custom-version"
	// SidecarSetCanaryAnnotation is on SidecarSets: "true" makes the set take the place of its base in
	// the pods that both match. Users write, admission and pod webhook read.
	SidecarSetCanaryAnnotation = "apps.kruise.io/sidecarset-canary"
	// SidecarSetBaseAnnotation is on canary SidecarSets: the name of their base. Users write, admission
	// and pod webhook read.
	SidecarSetBaseAnnotation = "apps.kruise.io/sidecarset-base"
)

// SidecarSetUpgradable is a pod condition: whether every SidecarSet of the pod could update it in place.
// Its message is a JSON map of set name to bool. The SidecarSet controller writes and reads.
const SidecarSetUpgradable = "SidecarSetUpgradable"

// Reasons of condition SidecarSetUpgradable.
const (
	// SidecarSetAllUpgradable: all of them could.
	SidecarSetAllUpgradable = "AllSidecarsetUpgradable"
	// SidecarSetUpdateImmutableField: one changed more than images.
	SidecarSetUpdateImmutableField = "UpdateImmutableField"
)

// Reasons of the events of the SidecarSet controller.
const (
	// SidecarSetNotUpgradablePodsReason, on the set: pods are skipped because more than images changed.
	SidecarSetNotUpgradablePodsReason = "NotUpgradablePods"
	// SidecarSetResetContainerSucceedReason, on the pod: the idle twin of a hot upgrade is empty again.
	SidecarSetResetContainerSucceedReason = "ResetContainerSucceed"
	// SidecarSetResetContainerFailedReason, on the pod: the idle twin could not be emptied.
	SidecarSetResetContainerFailedReason = "ResetContainerFailed"
)

// SidecarSetPatchPodMetadataWhiteListKey is a key of ConfigMap kruise-configuration in the spoke's
// namespace: which annotations patchPodMetadata may set, as a SidecarSetPatchMetadataWhiteList in JSON.
// Administrators write, admission of SidecarSets reads.
const SidecarSetPatchPodMetadataWhiteListKey = "SidecarSet_PatchPodMetadata_WhiteList"
