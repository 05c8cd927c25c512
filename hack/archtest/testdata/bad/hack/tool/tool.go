// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tool breaks a rule on purpose.
package tool
