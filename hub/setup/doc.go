// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup is the hub's wiring table: every controller, webhook, divider, index, metric and cache
// rule is named here and nowhere else.
package setup
