// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features is the one list of feature gates, with OpenKruise's names and, but for one, its defaults.
// Each says what it changes and which packages read it. Gates that need each other are settled once, after
// the command line is parsed.
package features
