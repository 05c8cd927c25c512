// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels and annotations of the workloads; workloads.md section 1.6 names all.
const (
	// ControllerRevisionHashLabel is on pods: the revision they belong to. Workload controllers write.
	ControllerRevisionHashLabel = "controller-revision-hash"
	// PodTemplateHashLabel is on CloneSet pods: the short hash of their revision.
	PodTemplateHashLabel = "pod-template-hash"
	// ControllerHashLabel is on ControllerRevisions: the short hash.
	ControllerHashLabel = "controller.kubernetes.io/hash"
	// CloneSetInstanceID is on CloneSet pods and claims: five characters that pair them.
	CloneSetInstanceID = "apps.kruise.io/cloneset-instance-id"
	// SpecifiedDeleteKey is on pods: asks the workload to delete the pod, whatever the value.
	SpecifiedDeleteKey = "apps.kruise.io/specified-delete"
	// LifecycleStateKey is on pods: see LifecycleStateType.
	LifecycleStateKey = "lifecycle.apps.kruise.io/state"
	// LifecycleTimestampKey is an annotation on pods: RFC 3339 time of the last state change.
	LifecycleTimestampKey = "lifecycle.apps.kruise.io/timestamp"
	// InPlaceUpdateStateKey is an annotation on pods: JSON progress of the in-place update.
	InPlaceUpdateStateKey = "apps.kruise.io/inplace-update-state"
	// InPlaceUpdateStateKeyOld is the older name of InPlaceUpdateStateKey: read, never written.
	InPlaceUpdateStateKeyOld = "inplace-update-state"
	// InPlaceUpdateGraceKey is an annotation on pods: JSON of the change that waits for the grace period.
	InPlaceUpdateGraceKey = "apps.kruise.io/inplace-update-grace"
	// InPlaceUpdateGraceKeyOld is the older name of InPlaceUpdateGraceKey: read, never written.
	InPlaceUpdateGraceKeyOld = "inplace-update-grace"
	// InPlaceUpdateReady is a readiness gate and pod condition: False while an in-place update runs.
	InPlaceUpdateReady = "InPlaceUpdateReady"
	// KruisePodReadyConditionType is a readiness gate and pod condition many may hold False.
	KruisePodReadyConditionType = "KruisePodReady"
	// PodDeletionCostKey is an annotation on pods that ranks them for scale-down.
	PodDeletionCostKey = "controller.kubernetes.io/pod-deletion-cost"
	// CloneSetScalingExcludePreparingDelete is a label on CloneSets: v1alpha1's way to say
	// scaleStrategy.excludePreparingDelete.
	CloneSetScalingExcludePreparingDelete = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
	// ImagePreDownloadParallelismKey, …TimeoutSecondsKey and …MinUpdatedReadyPodsKey are
	// annotations on workloads that tune image pre-download.
	ImagePreDownloadParallelismKey = "apps.kruise.io/image-predownload-parallelism"
	// ImagePreDownloadTimeoutSecondsKey bounds one pull, in seconds.
	ImagePreDownloadTimeoutSecondsKey = "apps.kruise.io/image-predownload-timeout-seconds"
	// ImagePreDownloadMinUpdatedReadyPodsKey delays the pre-download.
	ImagePreDownloadMinUpdatedReadyPodsKey = "apps.kruise.io/image-predownload-min-updated-ready-pods"
	// CloneSetVolumeClaimTemplateHashKey is an annotation on ControllerRevisions of CloneSets.
	CloneSetVolumeClaimTemplateHashKey = "kruise.io/cloneset-volumeclaimtemplate-hash"

	// SubsetRevisionLabel is on subset workloads and their pods: the UnitedDeployment's revision name.
	SubsetRevisionLabel = "apps.kruise.io/controller-revision-hash"
	// SubsetNameLabel is on subset workloads and their pods: the subset's name.
	SubsetNameLabel = "apps.kruise.io/subset-name"
	// SubsetPatchAnnotation is on subset workloads: the subset patch last applied.
	SubsetPatchAnnotation = "apps.kruise.io/subset-patch"
	// ReservedPodLabel is on pods of UnitedDeployments that reserve unschedulable pods.
	ReservedPodLabel = "apps.kruise.io/united-deployment-reserved-pod"

	// DeleteProtectionKey is a label that protects an object from deletion: Always or Cascading.
	DeleteProtectionKey = "policy.kruise.io/delete-protection"
)
