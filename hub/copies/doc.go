// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies gives every cluster a whole copy of an object, whatever its kind. Members report no
// counters for it, and the hub's object gets no status.
package copies
