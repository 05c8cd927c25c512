// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spoke tests one member: its workloads, as its users write them.
package spoke
