// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events publishes events built by constructors, each at most once in a while: a fact that
// holds for minutes is told once, not on every pass.
package events
