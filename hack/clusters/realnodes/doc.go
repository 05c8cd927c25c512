// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realnodes runs nodes that are no simulation: for each one containerd and one kubelet on this machine, side by
// side with those of other nodes and other sets of clusters. It needs Linux (cgroup v1 or v2), root, and Debian's runc and iptables,
// which it installs where they are missing.
//
// What keeps the nodes apart, all of it named after the set's slot S, the member's number M and the node's number N:
//
//	/var/lib/flotilla/flotS           the set's folder on the machine; file `owner` says whose it is
//	  nodes/NODE/                     containerd's and kubelet's roots, logs of pods, configuration
//	  cri/NODE/containerd.sock        the container runtime's socket
//	  crictl                          a link to the program crictl
//	flotS                             a bridge without ports, which carries the nodes' addresses and those of the API servers
//	flotS-M-N                         the bridge of the node's pods, and the node's cgroup in every hierarchy
//
// The folder is reached as .clusters/NAME/nodes too; it is not inside the repository because socket paths must be short
// and because nobody should delete a working copy through a pod's mounts.
//
// Nothing leaves the machine. Every pull goes to the set's registry, whatever the image is called. Packets from and to
// the set's addresses that fit no interface of the set are answered "unreachable". Pods reach the API server of their
// cluster as the service `kubernetes`, and those of other planes in the same way, through a forwarder that listens at the
// service's IP. Other service IPs do not answer, as there is no kube-proxy. A pod's hostPort is open at the address of
// its node alone. There is no DNS.
//
// What stays after the last node is gone: the Debian packages, and the kernel settings every kubelet makes at its start
// (vm.overcommit_memory, kernel.panic and kernel.panic_on_oops).
package realnodes
