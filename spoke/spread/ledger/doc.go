// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps the books of WorkloadSpreads, which are their status: package spread decides, package books writes.
// A place is written before the pod it is for is let through, so that no two pods get the same.
package ledger
