// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imageref takes names of container images apart, as Docker and the kubelet do: nginx is
// docker.io/library/nginx, and neither a tag nor a digest means tag latest.
package imageref
