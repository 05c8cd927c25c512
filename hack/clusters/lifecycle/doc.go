// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle brings a set of local clusters up, repairs it, takes it down and says how it is. What the set
// consists of is the table in parts.go.
package lifecycle
