// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the older served version of group policy.kruise.io. Controllers never see it:
// its objects are converted into the storage version, apis/policy/v1beta1, and back. conversion-gen
// writes what is alike; <kind>_conversion.go holds only the fields that differ.
//
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/flotilla-sh/flotilla/apis/policy/v1beta1
// +k8s:openapi-gen=true
// +groupName=policy.kruise.io
package v1alpha1
