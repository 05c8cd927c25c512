// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seconds reads the whole seconds of API fields as durations. Anybody may write any number there, and one that is
// too large must mean a very long time: multiplied as it is, it overflows and means none at all.
package seconds
