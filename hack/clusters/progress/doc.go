// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress tells the person in front of the terminal what the tool is doing: one line when a task starts, one
// when it ends with how long it took, and a sign of life in between for tasks that take minutes.
package progress
