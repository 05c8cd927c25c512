// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the storage version of group apps.kruise.io: names, JSON, defaults and
// labels are those of OpenKruise 1.9, so that objects move between the two without a change.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +groupName=apps.kruise.io
package v1beta1
