// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership answers who controls an object, by group and kind and whatever the version, and
// names the field index by which a controller lists its own. Dependents lists them without copying,
// EnqueueController wakes their owner.
package ownership
