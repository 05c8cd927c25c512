// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// EphemeralContainersCleanupFinalizer is a finalizer on EphemeralJobs. Their controller adds it and
	// takes it out.
	EphemeralContainersCleanupFinalizer = "apps.kruise.io/ephemeralcontainers-cleanup"
	// EphemeralJobIDEnv is an environment variable of the containers an EphemeralJob adds: its UID. The
	// EphemeralJob controller writes it and tells its own containers by it.
	EphemeralJobIDEnv = "KRUISE_EJOB_ID"

	// DefaultEphemeralJobParallelism is the default of parallelism, in pods.
	DefaultEphemeralJobParallelism int32 = 1
	// DefaultEphemeralJobTTLSeconds is the default of ttlSecondsAfterFinished, in seconds.
	DefaultEphemeralJobTTLSeconds int32 = 1800
)

// Reasons of conditions, and event reasons, of EphemeralJobs. The EphemeralJob controller writes them.
const (
	// EphemeralJobReasonMatchEmpty, of MatchedEmpty: no pod is selected.
	EphemeralJobReasonMatchEmpty = "MatchEmpty"
	// EphemeralJobReasonCreateFailed, of JobFailed: containers failed. Also a Warning event: containers
	// could not be put into a pod.
	EphemeralJobReasonCreateFailed = "CreateFailed"
	// EphemeralJobReasonDeadlineExceeded, of JobFailed: activeDeadlineSeconds are over.
	EphemeralJobReasonDeadlineExceeded = "DeadlineExceeded"
)
