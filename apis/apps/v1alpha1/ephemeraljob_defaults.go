// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// DefaultEphemeralJob fills the fields of an EphemeralJob that say nothing. It is for those who read
// objects: at admission nothing is filled.
func DefaultEphemeralJob(obj *EphemeralJob) {
	point(&obj.Spec.Parallelism, DefaultEphemeralJobParallelism)
	point(&obj.Spec.TTLSecondsAfterFinished, DefaultEphemeralJobTTLSeconds)
}
