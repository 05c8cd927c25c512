// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup is the spoke's wiring table: every controller, webhook, converter, index and gate is
// named here and nowhere else.
package setup
