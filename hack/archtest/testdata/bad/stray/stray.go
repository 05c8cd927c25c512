// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stray breaks a rule on purpose.
package stray
