// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Annotations of WorkloadSpreads, their pods and their workloads.
const (
	// MatchedWorkloadSpreadKey is an annotation on pods: JSON {"name", "subset", "uid"} of the
	// WorkloadSpread and the subset the pod was given; uid only when the pod had no final name yet. Pod
	// admission writes it; the WorkloadSpread controller reads it, whatever the case of the keys.
	MatchedWorkloadSpreadKey = "apps.kruise.io/matched-workloadspread"
	// WorkloadSpreadIgnorePatchMetadataKey is an annotation on WorkloadSpreads: "true", in any case, keeps
	// the metadata of patches off pods that were there before. Users write it; the controller reads it.
	WorkloadSpreadIgnorePatchMetadataKey = "workloadspread.kruise.io/ignore-patch-existing-pods-metadata"
	// DeploymentRevisionKey is an annotation on Deployments. The Deployment controller writes it; a change
	// wakes the WorkloadSpread controller.
	DeploymentRevisionKey = "deployment.kubernetes.io/revision"
)

// Well-known names of WorkloadSpread.
const (
	// WorkloadSpreadFakeSubset is where the controller counts pods that belong to no subset.
	WorkloadSpreadFakeSubset = "kruise.io/workloadspread-fake-subset-name"
	// WorkloadSpreadVersionIgnored is the key in versionedSubsetStatuses of pods whose version does not
	// count. The controller and pod admission write and read it.
	WorkloadSpreadVersionIgnored = "versionIgnored"
	// ConfigurationName is the ConfigMap in the manager's namespace that lists what is allowed beyond the
	// kinds we know. Administrators write it.
	ConfigurationName = "kruise-configuration"
	// WorkloadSpreadWhiteListKey is its key for workloads that WorkloadSpreads may target. The
	// WorkloadSpread controller and admission read it.
	WorkloadSpreadWhiteListKey = "WorkloadSpread_Watch_Custom_Workload_WhiteList"
)

// WorkloadSpreadSubsetSchedulable is the condition type of a subset: whether its pods can be scheduled.
// The WorkloadSpread controller writes it; pod admission reads it.
const WorkloadSpreadSubsetSchedulable = "Schedulable"

// Reasons of condition Schedulable.
const (
	// WorkloadSpreadReasonPodUnschedulable (False): a pod was unschedulable for too long.
	WorkloadSpreadReasonPodUnschedulable = "PodUnschedulable"
	// WorkloadSpreadReasonSufficient (True): nothing is known against the subset.
	WorkloadSpreadReasonSufficient = "Sufficient"
	// WorkloadSpreadReasonUnknown: a v1alpha1 condition that gave no reason.
	WorkloadSpreadReasonUnknown = "Unknown"
)

// Event reasons of WorkloadSpreads.
const (
	// WorkloadSpreadEventCreatePodFailed (Warning): a pod that was let in was not seen.
	WorkloadSpreadEventCreatePodFailed = "CreatePodFailed"
	// WorkloadSpreadEventDeletePodFailed (Warning): a pod was not deleted, or not seen to be.
	WorkloadSpreadEventDeletePodFailed = "DeletePodFailed"
	// WorkloadSpreadEventPatchDeletionCostFailed (Warning): a pod did not get its deletion cost.
	WorkloadSpreadEventPatchDeletionCostFailed = "PatchPodDeletionCostFailed"
	// WorkloadSpreadEventRecoverSchedulable (Normal): a subset is tried again.
	WorkloadSpreadEventRecoverSchedulable = "RecoverSchedulable"
)
