// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images makes the small OCI images of the local clusters on the spot, without Docker: static Go programs of
// hack/clusters/samples, wrapped with go-containerregistry.
//
//	err := images.BuildSamples(ctx, root, dir)       // go build, seconds when cached
//	list, err := images.Samples(dir)                 // the images of all tags, in memory
//	err = images.Push(ctx, "127.0.0.1:5000", nil, list...) // to a registry
//
// Images are named REPOSITORY:TAG (web:v1). The registry of the local clusters goes by the last element of a name's path
// alone, so web:v1, flotilla.local/web:v1 and registry.example.com/shop/web:v1 are the same image; names it does not
// have fail to pull. The same sources and Go version give the same digests: timestamps are fixed and nothing of the
// machine is in them. Tags of one repository share their layers but for one that holds /version, so changing the tag
// pulls a few hundred bytes.
//
// Archive writes one program as a tar of an OCI image layout, which `ctr images import`, `docker load` and Push take.
package images
