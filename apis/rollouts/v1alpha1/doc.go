// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the older served version of group rollouts.kruise.io, and the kinds that have no
// other: TrafficRouting and RolloutHistory. Rollouts and BatchReleases are converted into the storage version,
// apis/rollouts/v1beta1, and back; controllers never see them here. conversion-gen writes what is alike;
// <kind>_conversion.go holds only the fields that differ.
//
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1
// +k8s:openapi-gen=true
// +groupName=rollouts.kruise.io
package v1alpha1
