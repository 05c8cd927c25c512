// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package split breaks a rule on purpose.
package split
