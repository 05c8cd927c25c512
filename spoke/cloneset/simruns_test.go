//go:build !integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

// defaultRuns is how many rollouts the unit tests simulate.
const defaultRuns = 10000
