// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels of the pods of a BroadcastJob. Its controller writes them and finds its pods by them; a template
// must not carry them.
const (
	// BroadcastJobNameLabel is the name of the job.
	BroadcastJobNameLabel = "broadcastjob-name"
	// BroadcastJobControllerUIDLabel is the UID of the job.
	BroadcastJobControllerUIDLabel = "broadcastjob-controller-uid"
)

// Event reasons that only BroadcastJobs have; WorkloadEvent… are the others. The last two are reasons of
// condition Failed as well.
const (
	// BroadcastJobEventContinue (Normal): a paused job goes on.
	BroadcastJobEventContinue = "Continue"
	// BroadcastJobEventComplete (Normal): every node is done.
	BroadcastJobEventComplete = "JobComplete"
	// BroadcastJobEventPaused (Warning): a failed pod paused the job.
	BroadcastJobEventPaused = "Paused"
	// BroadcastJobEventDuplicatePod (Warning): a node has two pods of the job.
	BroadcastJobEventDuplicatePod = "DuplicatePodCreatedOnSameNode"
	// BroadcastJobEventTooManyActivePods (Warning): more pods run than parallelism allows.
	BroadcastJobEventTooManyActivePods = "TooManyActivePods"
	// BroadcastJobEventFailedPod (Warning): a failed pod fails the job.
	BroadcastJobEventFailedPod = "failed pod is found"
	// BroadcastJobEventDeadlineExceeded (Warning): activeDeadlineSeconds are over.
	BroadcastJobEventDeadlineExceeded = "DeadlineExceeded"
)
