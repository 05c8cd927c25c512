// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package latecache shows objects that can perhaps not be read yet: the right to them, or where they are, comes later
// or never.
//
// It promises:
//   - Controllers that watch such objects start all the same, and see them within half a minute after they can be read.
//   - Whoever reads them gets an error until then, and no empty list.
package latecache
