// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

const (
	// Agent is the agent's part of its user name; real agents use a random word.
	Agent = "stand-in"
	// FieldOwner is the field manager of everything the stand-in applies.
	FieldOwner = "ocm-stand-in"
	// LeaseName is the lease, in the cluster's namespace on the hub, that the agent renews.
	LeaseName = "managed-cluster-lease"
	// GraceFactor is how many lease durations may pass without a renewal before the cluster counts as unreachable.
	GraceFactor = 5
	// DefaultLeaseSeconds is the lease duration, in seconds, of a cluster that names none.
	DefaultLeaseSeconds = 60

	prefix = "system:open-cluster-management:"
)

// User is the user name of the agent of a cluster.
func User(cluster string) string { return prefix + cluster + ":" + Agent }

// Group is the group of all agents of a cluster. It is what role bindings name.
func Group(cluster string) string { return prefix + cluster }

// Namespace is the namespace on the hub that belongs to a cluster.
func Namespace(cluster string) string { return cluster }
