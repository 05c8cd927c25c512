// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command clusters runs a hub and member clusters on this machine: real Kubernetes control planes as plain processes,
// with simulated or real nodes, no images and no downloads but Go modules.
//
//	go run ./hack/clusters up --name dev --members 2 --fake-nodes 3
//	go run ./hack/clusters status --name dev
//	go run ./hack/clusters logs --name dev hub-kube-apiserver -f
//	go run ./hack/clusters down --name dev
//
// `up` a second time repairs what died and changes what the flags ask to change. Everything is kept in .clusters/NAME.
// Exit status: 0 done; 1 failed; 3 (`status` alone) some process does not run.
package main
