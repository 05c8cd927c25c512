// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// RolloutConditionType is the type of a condition of Rollouts and BatchReleases.
type RolloutConditionType string

// Condition types. The controller of the object writes.
const (
	// RolloutConditionProgressing is True while a release is under way, False once it is completed.
	RolloutConditionProgressing RolloutConditionType = "Progressing"
	// RolloutConditionSucceeded says how the last release ended; absent while one is under way.
	RolloutConditionSucceeded RolloutConditionType = "Succeeded"
	// RolloutConditionTerminating is True while a deleted Rollout hands the workload back.
	RolloutConditionTerminating RolloutConditionType = "Terminating"
	// RolloutConditionMinReadyDegraded is True when settings to restore were lost.
	RolloutConditionMinReadyDegraded RolloutConditionType = "MinReadyDegraded"
)

// Reasons of condition Progressing.
const (
	// ProgressingReasonInitializing: Services, routes and revisions are looked up.
	ProgressingReasonInitializing = "Initializing"
	// ProgressingReasonInRolling: steps are under way.
	ProgressingReasonInRolling = "InRolling"
	// ProgressingReasonFinalising: the last step is done, the workload is handed back.
	ProgressingReasonFinalising = "Finalising"
	// ProgressingReasonCompleted: the release has ended.
	ProgressingReasonCompleted = "Completed"
	// ProgressingReasonCancelling: a rollback is under way.
	ProgressingReasonCancelling = "Cancelling"
	// ProgressingReasonPaused: spec says paused.
	ProgressingReasonPaused = "Paused"
)

// Reasons of condition Terminating.
const (
	// TerminatingReasonInTerminating: the workload is being handed back.
	TerminatingReasonInTerminating = "InTerminating"
	// TerminatingReasonCompleted: it was.
	TerminatingReasonCompleted = "Completed"
)

// Reasons of events.
const (
	// NotInterceptedReason, on the Rollout: an update of the workload was let pass; the message says why.
	NotInterceptedReason = "NotIntercepted"
	// UnsupportedWorkloadReason, on the BatchRelease: there is no way to release this kind.
	UnsupportedWorkloadReason = "UnsupportedWorkload"
	// MatchUnsupportedReason, on the Rollout: the ingress controller cannot match what a step asks for.
	MatchUnsupportedReason = "MatchUnsupported"
)
