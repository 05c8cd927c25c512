// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the storage version of group rollouts.kruise.io: names, JSON, defaults, labels and
// annotations are those of Kruise Rollouts 0.6, so that objects move between the two without a change.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +groupName=rollouts.kruise.io
package v1beta1
