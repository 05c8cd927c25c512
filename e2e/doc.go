// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the end-to-end tests: black box, on real clusters, one folder for each part of the
// product. They carry the build tag e2e; those that need real nodes carry the label real.
package e2e
