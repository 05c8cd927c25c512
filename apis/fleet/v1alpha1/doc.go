// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds group fleet.kruise.io: how the hub says where an object goes
// (FleetPlacement) and hands each member cluster its share (FleetSlice).
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +groupName=fleet.kruise.io
package v1alpha1
