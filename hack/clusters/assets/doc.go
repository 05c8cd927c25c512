// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package assets gets the programs the local clusters are made of: Kubernetes, etcd, kwok, containerd, crictl and the
// CNI plugins, built from the modules under hack/clusters/kube into a cache keyed by module and version, and our own
// programs.
//
//	paths, err := src.Ensure(ctx, assets.Etcd, assets.APIServer)
//
// Only what is asked for is built, once: what the cache or a folder of ready-made programs (--assets,
// KUBEBUILDER_ASSETS) holds is taken as it is. A program appears in the cache whole or not at all, and two tools at a
// time do not build the same program twice.
package assets
