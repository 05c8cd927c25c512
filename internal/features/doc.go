// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features is the one list of feature gates, with OpenKruise's names and defaults. Each says
// what it changes and which package reads it.
package features
