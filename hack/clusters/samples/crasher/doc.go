// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crasher is the sample that fails: it exits with --code (or CRASH_CODE, 1 by default) when --after (or
// CRASH_AFTER, 1s by default) has passed, and exits 0 at once when SIGTERM comes before.
package main
