// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flotilla is the root of the module: it holds no code. See ARCHITECTURE.md for the map.
package flotilla
