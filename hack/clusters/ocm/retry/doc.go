// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry says how the stand-in's hub controllers go on after a failed
// pass: soon again, at most two seconds apart, so that an API server which was
// away is not waited for once it is back; and without noise where another
// writer was merely faster.
package retry
