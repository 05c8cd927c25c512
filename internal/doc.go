// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package internal is the small kit that hub, spoke and nodeagent share: one concept a package,
// none of which knows any kind's rules.
package internal
