// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub tests the hub: one workload over several clusters, whatever dies on the way.
package hub
