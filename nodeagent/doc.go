// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command flotilla-nodeagent serves one node: it does for Flotilla what only the node's container runtime can
// do or tell. See package setup for its parts and flags.
package main
