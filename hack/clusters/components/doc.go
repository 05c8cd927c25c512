// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package components runs our own components against a set of local clusters: flotilla-hub on the hub, flotilla-spoke on
// every member, flotilla-nodeagent on every real node. They run as processes, with the flags and exactly the rights that
// the manifests under kustomize/ give their pods: each is to its API server the service account of its Deployment. What
// the manifests hold beside workloads (CRDs, roles, webhook configurations) is applied, with webhooks called at the
// process instead of the Service.
//
// A member's spoke reaches the hub as the add-on's agent of its cluster, which may touch its own cluster's namespace
// alone.
package components
