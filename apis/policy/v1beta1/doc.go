// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the storage version of group policy.kruise.io: names, JSON, defaults and
// annotations are those of OpenKruise 1.9, so that objects move between the two without a change.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +groupName=policy.kruise.io
package v1beta1
