// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

const (
	// CronScheduledAtKey is an annotation on the jobs of an AdvancedCronJob: the RFC 3339 time the run was
	// due. The AdvancedCronJob controller writes it and reads it to tell which run was the last.
	CronScheduledAtKey = "apps.kruise.io/scheduled-at"

	// DefaultSuccessfulJobsHistoryLimit is the default of successfulJobsHistoryLimit.
	DefaultSuccessfulJobsHistoryLimit int32 = 3
	// DefaultFailedJobsHistoryLimit is the default of failedJobsHistoryLimit.
	DefaultFailedJobsHistoryLimit int32 = 1
)
