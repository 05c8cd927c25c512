// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests only tests what is under kustomize/: that every base and overlay builds, and that a
// real API server takes what it builds.
package manifests
