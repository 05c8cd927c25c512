// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Annotations of the copies that a ResourceDistribution makes. Its controller writes and reads them.
const (
	// ResourceHashKey is the hexadecimal SHA-256 of the resource's bytes in spec.resource.
	ResourceHashKey = "kruise.io/resourcedistribution.resource.hashcode"
	// ResourceSourceKey is the name of the ResourceDistribution.
	ResourceSourceKey = "kruise.io/resourcedistribution.resource.from"
)
