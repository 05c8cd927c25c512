// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command clusters runs a hub and member clusters on this machine: real Kubernetes control planes as plain processes,
// with simulated or real nodes, no images and no downloads but Go modules.
//
//	go run ./hack/clusters up --name dev --members 2 --fake-nodes 3
//	go run ./hack/clusters status --name dev
//	go run ./hack/clusters logs --name dev hub-kube-apiserver -f
//	go run ./hack/clusters images
//	go run ./hack/clusters down --name dev
//
// Real nodes (up --real-nodes N; see package realnodes) pull every image, under whatever name, from the registry whose
// address is in .clusters/NAME/registry. It has the sample images which `images` lists (web:v1, flotilla.local/web:v1
// and example.com/any/web:v1 are the same one) and what `images --load` adds. A node's container runtime is at
// .clusters/NAME/nodes/cri/NODE/containerd.sock; .clusters/NAME/nodes/crictl speaks to it.
//
// `up` a second time repairs what died and changes what the flags ask to change. Everything is kept in .clusters/NAME.
// Exit status: 0 done; 1 failed; 3 (`status` alone) some process does not run.
package main
