// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels and annotations of workloads and pods that are released.
const (
	// RolloutIDLabel is on workloads, as a label and as an annotation, and on pods and RolloutHistories: the
	// id of the release. Users write it on workloads, the controllers elsewhere; webhook and controllers read.
	RolloutIDLabel = "rollouts.kruise.io/rollout-id"
	// RolloutBatchIDLabel is on pods: the batch that updated them, counted from 1. The BatchRelease
	// controller writes and reads.
	RolloutBatchIDLabel = "rollouts.kruise.io/rollout-batch-id"
	// RolloutNameLabel is on RolloutHistories: the name of the Rollout. The history controller writes and
	// selects by it.
	RolloutNameLabel = "rollouts.kruise.io/rollout-name"
	// WorkloadTypeLabel is on workloads: cloneset, deployment, statefulset or daemonset. The Rollout
	// controller writes; webhooks of Kruise Rollouts select by it.
	WorkloadTypeLabel = "rollouts.kruise.io/workload-type"
	// InRolloutProgressingAnnotation is on workloads: {"rolloutName": …} while a release is under way. The
	// workload webhook writes, the Rollout controller reads and removes it.
	InRolloutProgressingAnnotation = "rollouts.kruise.io/in-progressing"
	// NoNeedUpdatePodLabel is on pods that were at the target when a rollback in batches began: the id of
	// the release. The BatchRelease controller writes and reads.
	NoNeedUpdatePodLabel = "rollouts.kruise.io/no-need-update"
	// BatchReleaseControlAnnotation is on workloads and canary Deployments: the BatchRelease that controls
	// them, an owner reference as JSON. The BatchRelease controller writes and reads.
	BatchReleaseControlAnnotation = "batchrelease.rollouts.kruise.io/control-info"
	// OriginalDeploymentStrategyAnnotation is on workloads of blueGreen releases: the settings to restore,
	// as JSON. The BatchRelease controller writes and reads.
	OriginalDeploymentStrategyAnnotation = "rollouts.kruise.io/original-deployment-strategy"
)

// Labels and annotations of Deployments and native DaemonSets.
const (
	// DeploymentStableRevisionLabel: the pod-template-hash of the stable ReplicaSet. The workload webhook
	// writes, the controllers read.
	DeploymentStableRevisionLabel = "rollouts.kruise.io/stable-revision"
	// DeploymentStrategyAnnotation: the strategy of the advanced Deployment controller as JSON. The
	// BatchRelease controller and the workload webhook write, the advanced Deployment controller reads.
	DeploymentStrategyAnnotation = "rollouts.kruise.io/deployment-strategy"
	// DeploymentExtraStatusAnnotation: more status as JSON. The advanced Deployment controller writes, the
	// BatchRelease controller reads.
	DeploymentExtraStatusAnnotation = "rollouts.kruise.io/deployment-extra-status"
	// AdvancedDeploymentControlLabel: "true" while the advanced Deployment controller moves the pods. The
	// BatchRelease controller writes, the other reads.
	AdvancedDeploymentControlLabel = "rollouts.kruise.io/controlled-by-advanced-deployment-controller"
	// CanaryDeploymentLabel is on canary Deployments: the name of the stable one. The BatchRelease
	// controller writes and selects by it.
	CanaryDeploymentLabel = "rollouts.kruise.io/canary-deployment"
	// DaemonSetRevisionAnnotation: the revisions of a native DaemonSet as JSON.
	DaemonSetRevisionAnnotation = "rollouts.kruise.io/daemonset-revision"
	// DaemonSetAdvancedControlAnnotation: partition and revision of a native DaemonSet as JSON. The
	// BatchRelease controller writes, the native DaemonSet controller reads.
	DaemonSetAdvancedControlAnnotation = "rollouts.kruise.io/daemonset-advanced-control"
	// DaemonSetOriginalUpdateStrategyAnnotation: the updateStrategy.type to restore. The workload webhook
	// writes, the BatchRelease controller reads and removes it.
	DaemonSetOriginalUpdateStrategyAnnotation = "rollouts.kruise.io/daemonset-original-update-strategy"
	// OriginalMinReadySecondsAnnotation and its three siblings: settings to restore after a release by
	// minReadySeconds; all four or none. The BatchRelease controller writes and reads.
	OriginalMinReadySecondsAnnotation = "rollouts.kruise.io/original-min-ready-seconds"
	// OriginalProgressDeadlineSecondsAnnotation: see OriginalMinReadySecondsAnnotation.
	OriginalProgressDeadlineSecondsAnnotation = "rollouts.kruise.io/original-progress-deadline-seconds"
	// OriginalMaxUnavailableAnnotation: see OriginalMinReadySecondsAnnotation.
	OriginalMaxUnavailableAnnotation = "rollouts.kruise.io/original-max-unavailable"
	// OriginalMaxSurgeAnnotation: see OriginalMinReadySecondsAnnotation.
	OriginalMaxSurgeAnnotation = "rollouts.kruise.io/original-max-surge"
	// OriginalNotSet is the value of these annotations where the field was not set.
	OriginalNotSet = "__k8s_default__"
)

// Annotations of Rollouts and BatchReleases.
const (
	// RolloutHashAnnotation is on Rollouts: the hash of the strategy without pauses and failureThreshold.
	// The Rollout controller writes and reads.
	RolloutHashAnnotation = "rollouts.kruise.io/hash"
	// RollbackInBatchAnnotation is on Rollouts and BatchReleases: "true" rolls back step by step. Users and
	// the Rollout controller write, the controllers read.
	RollbackInBatchAnnotation = "rollouts.kruise.io/rollback-in-batch"
	// RolloutStyleAnnotation is v1alpha1's way to say how new pods come to be: partition or canary, on
	// BatchReleases also bluegreen; case does not matter. Users and conversion write, conversion reads.
	RolloutStyleAnnotation = "rollouts.kruise.io/rolling-style"
	// TrafficRoutingAnnotation on Rollouts is v1alpha1's way to say trafficRoutingRef. Users and conversion
	// write; conversion reads, and the Rollout controller where the field is empty.
	TrafficRoutingAnnotation = "rollouts.kruise.io/trafficrouting"
	// PreservedAnnotation is on the v1alpha1 view of Rollouts and BatchReleases: what only v1beta1 can say.
	// Conversion writes and reads.
	PreservedAnnotation = "rollouts.kruise.io/v1beta1-preserved"
	// HubApproveAnnotation is on Rollouts: <rollout id>/<step> ends the pause of that step. A hub writes, the
	// Rollout controller reads and removes it.
	HubApproveAnnotation = "rollouts.kruise.io/hub-approve"
	// BatchTimeoutSecondsAnnotation is on Rollouts: after how many seconds a batch that is not ready pauses
	// the Rollout. Users write, the Rollout controller reads.
	BatchTimeoutSecondsAnnotation = "rollouts.kruise.io/batch-timeout-seconds"
)

// Annotations of network objects.
const (
	// OriginalSpecAnnotation is on custom network objects: spec, labels and annotations before the release,
	// as JSON. The traffic manager writes and reads.
	OriginalSpecAnnotation = "rollouts.kruise.io/original-spec-configuration"
	// OriginalHTTPRouteWeightsAnnotation is on HTTPRoutes: weights before the release, as JSON. The traffic
	// manager writes and reads.
	OriginalHTTPRouteWeightsAnnotation = "rollouts.kruise.io/original-httproute-weights"
	// RevisionSelectorKeyAnnotation is on stable Services: the selector key that was added for the release.
	// The traffic manager writes and reads.
	RevisionSelectorKeyAnnotation = "rollouts.kruise.io/revision-selector-key"
)

// Finalizers. The controller of the object that has one writes and removes it.
const (
	// RolloutFinalizer is on Rollouts.
	RolloutFinalizer = "rollouts.kruise.io/rollout"
	// BatchReleaseFinalizer is on BatchReleases.
	BatchReleaseFinalizer = "rollouts.kruise.io/batch-release-finalizer"
	// CanaryDeploymentFinalizer is on canary Deployments; the BatchRelease controller.
	CanaryDeploymentFinalizer = "finalizer.rollouts.kruise.io/batch-release"
	// TrafficRoutingFinalizer is on TrafficRoutings.
	TrafficRoutingFinalizer = "rollouts.kruise.io/trafficrouting"
	// ProgressingFinalizerPrefix and a Rollout's name is on TrafficRoutings that the Rollout holds; the
	// Rollout controller.
	ProgressingFinalizerPrefix = "progressing.rollouts.kruise.io/"
)
