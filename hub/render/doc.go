// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render makes, of an object on the hub, the object a cluster gets before its numbers are put
// in: it takes off what belongs to the hub (Base) and applies the overrides that select the cluster
// (Renderer). It is the only package that imports kustomize.
//
// A strategic merge patch follows the schema of the kind: built-in kinds have theirs, and the schema
// below gives our own kinds that of the pod templates inside them, so that containers merge by name. A
// kind without a schema gets a merge patch: lists are replaced.
//
// kustomize is slow to start and not fast afterwards. It is not touched without overrides, and each
// combination of an object and the overrides upon it is rendered once and remembered.
package render
