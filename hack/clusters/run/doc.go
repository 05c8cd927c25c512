// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is what `up` hands to each of its parts: the state of the set of clusters, its processes, the programs,
// and the means to report progress.
//
// A part is a package that knows one piece of the clusters (control planes, fake nodes, …). The table of parts, in the
// order they are brought up, is in package lifecycle.
package run
