// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Finalizers, labels and annotations of ImagePullJobs and of the Secrets copied for them.
const (
	// ImagePullJobFinalizer holds a job until its copied Secrets are given back. The spoke writes and
	// removes it.
	ImagePullJobFinalizer = "apps.kruise.io/deletion-protection"
	// PullSecretSourceKey is an annotation on copied Secrets: namespace/name of the original. The spoke
	// writes and reads.
	PullSecretSourceKey = "imagepulljobs.kruise.io/source-key"
	// PullSecretReferencesKey is an annotation on copied Secrets: namespace/name of each job that uses
	// it, sorted, joined by commas. The spoke writes and reads.
	PullSecretReferencesKey = "imagepulljobs.kruise.io/references"
	// PullSecretModeKey is an annotation on copied Secrets: PullSecretModeBatch. The spoke writes and reads.
	PullSecretModeKey = "imagepulljobs.kruise.io/mode"
	// PullSecretModeBatch is one copy for all jobs that use the same Secret; also in
	// NodeImage.spec.images[].pullSecrets[].mode.
	PullSecretModeBatch = "batch"
	// PullSecretSourceUIDKey is a label on copied Secrets of older versions: read, never written.
	PullSecretSourceUIDKey = "imagepulljobs.kruise.io/source-uid"
	// PullingImageByKey is an annotation of the sandbox with which a node pulls: PullingImageByNodeAgent.
	// The node agent writes, container runtimes read.
	PullingImageByKey = "apps.kruise.io/pulling-image-by"
	// PullingImageByNodeAgent is the value of PullingImageByKey.
	PullingImageByNodeAgent = "kruise-daemon"
)

// Messages of ImagePullJobs.
const (
	// ImagePullJobCompletedMessage: the job is done.
	ImagePullJobCompletedMessage = "job has completed"
	// ImagePullJobDeadlineMessage: activeDeadlineSeconds passed.
	ImagePullJobDeadlineMessage = "job exceeds activeDeadlineSeconds"
	// ImagePullJobNoProgressMessage: the job picks no node.
	ImagePullJobNoProgressMessage = "job is running, no progress"
)

// Reasons of the events of ImageListPullJobs.
const (
	// ImageListPullJobCreatedReason: ImagePullJobs were made.
	ImageListPullJobCreatedReason = "Successful create ImagePullJob"
	// ImageListPullJobDeletedReason: ImagePullJobs were deleted.
	ImageListPullJobDeletedReason = "Successful delete ImagePullJob"
)
