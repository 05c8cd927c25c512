// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references finds the ConfigMaps and Secrets that the pods of an object need. It is pure, and
// knows no kind: whatever has a pod's spec somewhere in it, a template, one of several, or the patch of a
// subset, is read alike.
package references
