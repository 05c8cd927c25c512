// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration is the hub half of the stand-in: what OCM's registration
// controller does for managed clusters, and for the sets they form.
//
// Accepting (AcceptReconciler). A cluster is accepted once, by itself, and
// annotated open-cluster-management.io/automatically-accepted-on; a later
// denial (hubAcceptsClient false) sticks. It gets OCM's finalizer, the label of
// the cluster set "default" where it names none (OCM's webhook does that), and
// the label topology.kubernetes.io/region, which follows its claim "region".
// When accepted it has a namespace, a lease and the roles of its agent; when
// denied the agent's bindings go, the namespace and what is in it stay. A
// deleted cluster takes its add-ons, works, roles and namespace along.
//
// Health (HealthReconciler):
//
//	lease                                   Available        taint (NoSelect, timeAdded)
//	renewed, agent says healthy             True             none
//	renewed, agent says unhealthy           False            unavailable
//	not renewed for 5 lease durations       Unknown          unreachable
//	no Available condition yet              -                unreachable
//
// The agent writes True and False, this half writes Unknown only. An agent is
// given a new grace period when this half could not read leases for a while (it
// was restarted, or the hub's API server was away): nobody could have renewed.
// Taints of others are left alone, except that a missing timeAdded is filled in.
//
// Sets (SetReconciler, BindingReconciler): conditions ClusterSetEmpty and
// Bound; EnsureSets makes the sets "global" and "default". No binding is made
// for anybody.
package registration
