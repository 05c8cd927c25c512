// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit breaks a rule on purpose.
package testkit
