// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels and annotations of the workloads; workloads.md section 1.6 names all.
const (
	// ControllerRevisionHashLabel is on pods: the revision they belong to. Workload controllers write and
	// read.
	ControllerRevisionHashLabel = "controller-revision-hash"
	// PodTemplateHashLabel is on CloneSet pods: the short hash of their revision. The CloneSet controller
	// writes, people and Services read.
	PodTemplateHashLabel = "pod-template-hash"
	// ControllerHashLabel is on ControllerRevisions: the short hash. Workload controllers write and read.
	ControllerHashLabel = "controller.kubernetes.io/hash"
	// CloneSetInstanceID is on CloneSet pods and claims: five characters that pair them. The CloneSet
	// controller writes and reads.
	CloneSetInstanceID = "apps.kruise.io/cloneset-instance-id"
	// SpecifiedDeleteKey is a label on pods: asks the workload to delete the pod, whatever the value. Users
	// and the WorkloadSpread and UnitedDeployment controllers write, workload controllers read.
	SpecifiedDeleteKey = "apps.kruise.io/specified-delete"
	// LifecycleStateKey is a label on pods: see LifecycleStateType. Workload controllers write, they and
	// whoever hooks in read.
	LifecycleStateKey = "lifecycle.apps.kruise.io/state"
	// LifecycleTimestampKey is an annotation on pods: RFC 3339 time of the last state change. Written as
	// LifecycleStateKey, people read.
	LifecycleTimestampKey = "lifecycle.apps.kruise.io/timestamp"
	// InPlaceUpdateStateKey is an annotation on pods: JSON progress of the in-place update. Workload
	// controllers write and read.
	InPlaceUpdateStateKey = "apps.kruise.io/inplace-update-state"
	// InPlaceUpdateStateKeyOld is the older name of InPlaceUpdateStateKey: read, never written.
	InPlaceUpdateStateKeyOld = "inplace-update-state"
	// InPlaceUpdateGraceKey is an annotation on pods: JSON of the change that waits for the grace period.
	// Workload controllers write and read.
	InPlaceUpdateGraceKey = "apps.kruise.io/inplace-update-grace"
	// InPlaceUpdateGraceKeyOld is the older name of InPlaceUpdateGraceKey: read, never written.
	InPlaceUpdateGraceKeyOld = "inplace-update-grace"
	// InPlaceUpdateReady is a readiness gate and pod condition: False while an in-place update runs. The gate
	// comes from workload controllers or the template, the condition from workload controllers; the kubelet
	// reads.
	InPlaceUpdateReady = "InPlaceUpdateReady"
	// KruisePodReadyConditionType is a readiness gate and pod condition many may hold False. The pod webhook
	// and workload controllers write the gate, podreadiness and whoever holds a pod the condition, whose
	// message lists them; the kubelet reads.
	KruisePodReadyConditionType = "KruisePodReady"
	// ReadinessGatesNotReadyReason is the reason of pod condition Ready where it was set to False because a
	// readiness gate is not true, before the kubelet does. Whoever holds a pod writes.
	ReadinessGatesNotReadyReason = "ReadinessGatesNotReady"
	// PodDeletionCostKey is an annotation on pods that ranks them for scale-down. Users and the
	// WorkloadSpread and UnitedDeployment controllers write, workload controllers read.
	PodDeletionCostKey = "controller.kubernetes.io/pod-deletion-cost"
	// CloneSetScalingExcludePreparingDelete is a label on CloneSets: v1alpha1's way to say
	// scaleStrategy.excludePreparingDelete: "true". Users write, the conversion reads and writes.
	CloneSetScalingExcludePreparingDelete = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
	// ImagePreDownloadParallelismKey, …TimeoutSecondsKey and …MinUpdatedReadyPodsKey are
	// annotations on workloads that tune image pre-download. Users write, workload controllers read.
	ImagePreDownloadParallelismKey = "apps.kruise.io/image-predownload-parallelism"
	// ImagePreDownloadTimeoutSecondsKey bounds one pull, in seconds. Written and read as that one.
	ImagePreDownloadTimeoutSecondsKey = "apps.kruise.io/image-predownload-timeout-seconds"
	// ImagePreDownloadMinUpdatedReadyPodsKey delays the pre-download. Written and read as those.
	ImagePreDownloadMinUpdatedReadyPodsKey = "apps.kruise.io/image-predownload-min-updated-ready-pods"
	// CloneSetVolumeClaimTemplateHashKey is an annotation on ControllerRevisions of CloneSets: the hash of
	// the claim templates. The CloneSet controller writes and reads.
	CloneSetVolumeClaimTemplateHashKey = "kruise.io/cloneset-volumeclaimtemplate-hash"

	// SubsetRevisionLabel is on subset workloads and their pods: the UnitedDeployment's revision name. Its
	// controller writes and reads.
	SubsetRevisionLabel = "apps.kruise.io/controller-revision-hash"
	// SubsetNameLabel is on subset workloads and their pods: the subset's name. The UnitedDeployment
	// controller writes and reads.
	SubsetNameLabel = "apps.kruise.io/subset-name"
	// SubsetPatchAnnotation is on subset workloads: the subset patch last applied. The UnitedDeployment
	// controller writes, people read.
	SubsetPatchAnnotation = "apps.kruise.io/subset-patch"
	// ReservedPodLabel is on pods of UnitedDeployments that reserve unschedulable pods. Their controller
	// writes and reads.
	ReservedPodLabel = "apps.kruise.io/united-deployment-reserved-pod"

	// DeleteProtectionKey is a label that protects an object from deletion: Always or Cascading. Users write,
	// admission of deletions reads.
	DeleteProtectionKey = "policy.kruise.io/delete-protection"
)

// IsPodMark says whether a label or annotation tells of one pod alone, such as its revision or its state. Pods do
// not get it from their template, where it came in with what was copied from a pod.
func IsPodMark(key string) bool {
	switch key {
	case ControllerRevisionHashLabel, PodTemplateHashLabel, CloneSetInstanceID, SpecifiedDeleteKey, LifecycleStateKey,
		LifecycleTimestampKey, InPlaceUpdateStateKey, InPlaceUpdateStateKeyOld, InPlaceUpdateGraceKey, InPlaceUpdateGraceKeyOld:
		return true
	default:
		return false
	}
}

// CloneSetPodLabels returns the labels that all pods of a CloneSet have whose template has these. Where each pod has
// a value of its own, it is empty.
func CloneSetPodLabels(template map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range template {
		if !IsPodMark(key) {
			out[key] = value
		}
	}
	for _, key := range []string{ControllerRevisionHashLabel, PodTemplateHashLabel, CloneSetInstanceID, LifecycleStateKey} {
		out[key] = ""
	}
	return out
}
