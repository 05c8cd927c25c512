// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package forward passes TCP connections from one address to another, unseen by both ends. It makes the control planes,
// which listen on loopback alone, reachable for the pods of real nodes.
package forward
