// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

const (
	// machineDir holds the folders of all sets on this machine.
	machineDir = "/var/lib/flotilla"
	// maxNodes is the number of nodes a member may have (state.Options).
	maxNodes = 16
	// podBits is the length of the prefix of a node's pods: 126 addresses.
	podBits = 25
)

// place is what belongs to one set on this machine.
type place struct {
	slot int
	// owner is the folder of the set.
	owner string
}

// link is the set's bridge, and the prefix of all its names.
func (p place) link() string { return fmt.Sprintf("flot%d", p.slot) }

func (p place) path(elements ...string) string {
	return filepath.Join(append([]string{machineDir, p.link()}, elements...)...)
}

// addresses is the range all of the set's pods and nodes are in, simulated or not.
func (p place) addresses() netip.Prefix { return netip.MustParsePrefix(state.Addresses(p.slot)) }

// services is the range of all service IPs of the set.
func (p place) services() netip.Prefix { return netip.MustParsePrefix(state.ServiceCIDRs(p.slot)) }

// realAddresses is the part of addresses that simulated pods leave free.
func (p place) realAddresses() netip.Prefix {
	return netip.PrefixFrom(p.addresses().Addr(), 14)
}

// address is the n-th address of the set.
func (p place) address(n int) netip.Addr {
	a := p.addresses().Addr().As4()
	return netip.AddrFrom4([4]byte{a[0], byte(n >> 16), byte(n >> 8), byte(n)})
}

// bridgeAddress is the host as the set's nodes see it.
func (p place) bridgeAddress() netip.Addr { return p.address(1) }

// node is one node: the number-th of the member-th member, both counted from 1.
type node struct {
	place
	member, number int
}

func (n node) name() string { return state.RealNodeName(n.member, n.number) }

// link is the bridge of the node's pods and the name of its cgroup: at most 12 characters, of which interfaces may have 15.
func (n node) link() string { return fmt.Sprintf("%s-%d-%d", n.place.link(), n.member, n.number) }

func (n node) cgroup() string { return "/" + n.link() }

// ip is the node's address.
func (n node) ip() netip.Addr { return n.address(n.member<<8 + n.number) }

// pods is the range of the node's pods: behind the 65,536 addresses that hold those of the nodes, one after the other.
func (n node) pods() netip.Prefix {
	index := (n.member-1)*maxNodes + n.number - 1
	return netip.PrefixFrom(n.address(1<<16+index<<(32-podBits)), podBits)
}

// gateway is the host as the node's pods see it.
func (n node) gateway() netip.Addr { return n.pods().Addr().Next() }

func (n node) path(elements ...string) string {
	return n.place.path(append([]string{"nodes", n.name()}, elements...)...)
}

// socket of the node's container runtime.
func (n node) socket() string { return n.place.path("cri", n.name(), "containerd.sock") }

// shimSockets is a folder whose path may have at most 42 bytes.
func (n node) shimSockets() string {
	return n.place.path("s", fmt.Sprintf("%d-%d", n.member, n.number))
}

// wanted are the nodes the options ask for.
func (p place) wanted(o state.Options) []node {
	var nodes []node
	for m := range o.Members {
		for i := range o.RealNodes {
			nodes = append(nodes, node{place: p, member: m + 1, number: i + 1})
		}
	}
	return nodes
}

// Socket is the path of the container runtime's socket on the n-th real node of the i-th member, both counted from 1.
func Socket(c *state.Cluster, i, n int) string {
	return node{place: placeOf(c), member: i, number: n}.socket()
}
