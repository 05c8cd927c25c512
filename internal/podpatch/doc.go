// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podpatch holds the change of one pod as data, so that pure code can decide it, tests can
// read and apply it, and one writer can send it as a narrow strategic-merge patch: fields this code
// does not know of and fields of other owners are never sent.
package podpatch
