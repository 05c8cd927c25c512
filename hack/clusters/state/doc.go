// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state is what the tool remembers about one set of local clusters: the options it was brought up with, the
// ports and address ranges it was given, and where its files are.
//
// Everything lives in one folder, .clusters/NAME in the repository:
//
//	state.json                what this package stores
//	hub.kubeconfig            admin access to the hub; member-1.kubeconfig, member-2.kubeconfig… to the members
//	pids                      one line a process: PID NAME
//	registry                  the address (host:port) of the image registry
//	logs/PROCESS.log          output of every process
//	processes/, pki/, bin/, data/, config/   what the processes themselves need
//
// Ports and the slot (which the address ranges are cut by) are reserved machine-wide, so that two sets of clusters
// never collide and a repair finds its ports free. Nothing here starts a process or talks to a cluster.
package state
