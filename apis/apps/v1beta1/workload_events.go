// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Event reasons that several workloads share. Their controllers emit them on the workload; users,
// dashboards and tests read them. The texts beside them are no contract.
const (
	// WorkloadEventSuccessfulCreate (Normal): a pod or claim was created.
	WorkloadEventSuccessfulCreate = "SuccessfulCreate"
	// WorkloadEventFailedCreate (Warning): a pod or claim could not be created.
	WorkloadEventFailedCreate = "FailedCreate"
	// WorkloadEventSuccessfulDelete (Normal): a pod or claim was deleted.
	WorkloadEventSuccessfulDelete = "SuccessfulDelete"
	// WorkloadEventFailedDelete (Warning): a pod or claim could not be deleted.
	WorkloadEventFailedDelete = "FailedDelete"
	// WorkloadEventSuccessfulUpdatePodInPlace (Normal): an in-place update of a pod was started.
	WorkloadEventSuccessfulUpdatePodInPlace = "SuccessfulUpdatePodInPlace"
	// WorkloadEventFailedUpdatePodInPlace (Warning): an in-place update of a pod could not be started.
	WorkloadEventFailedUpdatePodInPlace = "FailedUpdatePodInPlace"
	// WorkloadEventCreatedImagePullJob (Normal): images of a coming update are being pulled ahead.
	WorkloadEventCreatedImagePullJob = "CreatedImagePullJob"
	// WorkloadEventFailedCreateImagePullJob (Normal, as OpenKruise has it): they could not be.
	WorkloadEventFailedCreateImagePullJob = "FailedCreateImagePullJob"
)

// Labels of ControllerRevisions by which a workload remembers its image pre-download. Workload
// controllers write and read them; the value is "true".
const (
	// ImagePreDownloadCreatedKey: the pull jobs of this revision were made.
	ImagePreDownloadCreatedKey = "apps.kruise.io/pre-predownload-created"
	// ImagePreDownloadIgnoredKey: this revision needs no pull jobs.
	ImagePreDownloadIgnoredKey = "apps.kruise.io/image-predownload-ignored"
)
