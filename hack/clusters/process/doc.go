// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the programs of one set of local clusters detached from the tool: each in a session of its own,
// output in logs/NAME.log, remembered in processes/NAME.json with pid and start time, so that a pid which the kernel
// has given to somebody else in the meantime is never taken for ours.
//
//	g := process.Open(dir)
//	restarted, err := g.Ensure(ctx, process.Spec{Name: "etcd", Role: process.Store, Path: …, Args: …, Ready: …})
//
// Ensure leaves a process alone that runs as asked, and starts it anew when it died or when what it is made of (path,
// arguments, environment, fingerprint) changed. A start that fails is an error with the process's name and its last
// log lines, and the process is stopped. Undo stops what this Group started; StopAll stops everything of the set, by
// role: what depends on others goes first. A mark in the environment of every process finds even those whose record
// was lost.
package process
