// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry is the image registry of the local clusters: in memory, plain HTTP, on loopback, filled with the
// sample images before it answers anybody. Pushes are taken too and live as long as the process.
//
// It looks at the last element of a repository's path only, so every name a manifest may use for a sample finds it
// (flotilla.local/web, docker.io/library/web, registry.example.com/shop/web are all web), and there is no need to know
// its port: the nodes' container runtimes send every pull here, whatever the registry's name.
package registry
