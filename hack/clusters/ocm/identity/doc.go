// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity holds the names Open Cluster Management gives to a managed
// cluster's things on the hub: the user and group of its agent, its lease, its
// roles. Both halves of the stand-in read them here, and so will the add-on
// flow, so that certificates signed for a cluster carry the same subjects that
// its role bindings name.
package identity
