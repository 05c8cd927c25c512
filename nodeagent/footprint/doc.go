// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package footprint keeps the agent's memory small: an agent runs on every node, beside what the node is for. Most of what
// it has resident after its start is its own program, much of which only the start needs: tables of all API types and
// the code that enters them.
package footprint
