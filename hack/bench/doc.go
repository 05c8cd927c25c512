// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the hub: one real API server, the hub as a process of its own, and simulated
// members that apply every slice at once. It changes one UnitedDeployment in the ways that reach every
// member, and prints for each change how long it took until the last slice was written and until the
// hub's status was settled, what that cost the hub, and what it wrote.
//
// Beside it stands the floor: a bare program that only makes the slice writes.
//
// The table is also written as JSON to .bench/hub.json.
package main
