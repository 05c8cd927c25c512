// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs the control planes of a set of local clusters: one etcd for all, and for the hub and each
// member a kube-apiserver, a kube-controller-manager and, on members, a kube-scheduler, each plane with its own
// certificate authorities. It writes the admin kubeconfigs.
package controlplane
