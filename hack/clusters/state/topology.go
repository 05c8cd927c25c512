// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
)

// Hub is the name of the hub's control plane; members are called by MemberName.
const Hub = "hub"

// MemberName is the name of the i-th member cluster, counted from 1, of its ManagedCluster and its kubeconfig.
func MemberName(i int) string { return fmt.Sprintf("member-%d", i) }

// Region is the value of topology.kubernetes.io/region on all nodes of the i-th member, counted from 1.
func Region(i int) string { return fmt.Sprintf("region-%d", i) }

// FakeNodeName is the name of the n-th simulated node of the i-th member, both counted from 1.
func FakeNodeName(i, n int) string { return fmt.Sprintf("%s-fake-%d", MemberName(i), n) }

// RealNodeName is the name of the n-th containerd + kubelet node of the i-th member, both counted from 1.
func RealNodeName(i, n int) string { return fmt.Sprintf("%s-node-%d", MemberName(i), n) }

// Zone is the zone of the n-th node of a member, counted from 1: the zones in turn.
func Zone(zones []string, n int) string { return zones[(n-1)%len(zones)] }

// TopologyLabels are the topology labels of the n-th node (of its sort) of the i-th member, both counted from 1.
func TopologyLabels(zones []string, i, n int) map[string]string {
	return map[string]string{
		corev1.LabelTopologyRegion: Region(i),
		corev1.LabelTopologyZone:   Zone(zones, n),
	}
}

// MemberNames are the names of all members, in order.
func (o Options) MemberNames() []string {
	names := make([]string, o.Members)
	for i := range names {
		names[i] = MemberName(i + 1)
	}
	return names
}

// Planes are the names of all control planes: the hub, then the members. The index in it is the plane's number.
func (o Options) Planes() []string { return append([]string{Hub}, o.MemberNames()...) }

// Slots is how many sets of clusters may be up on one machine at a time.
const Slots = 16

// ServiceCIDR is the range of service IPs of plane number p (0 is the hub) in the set with the given slot: 128
// addresses, no two planes on the machine alike, out of the range set aside for benchmarks (RFC 2544), which is not
// routed anywhere.
func ServiceCIDR(slot, p int) string {
	n := (slot*(maxMembers+1) + p) * 128
	return fmt.Sprintf("198.%d.%d.%d/25", 18+(n>>16), (n>>8)&0xff, n&0xff)
}

// ServiceCIDRs is the range that holds every ServiceCIDR of a slot.
func ServiceCIDRs(slot int) string {
	n := slot * (maxMembers + 1) * 128
	return fmt.Sprintf("198.%d.%d.0/19", 18+(n>>16), (n>>8)&0xff)
}

// APIServiceIP is the IP of the service `kubernetes` in plane number p: the first of its range.
func APIServiceIP(slot, p int) string {
	return netip.MustParsePrefix(ServiceCIDR(slot, p)).Addr().Next().String()
}

// Addresses is the range of all addresses of nodes and pods, simulated or not, of the set with the given slot. It is
// part of what is reserved for future use (RFC 1112), so that nobody's network is hidden by it. Those of real nodes and
// their pods have a second number up to 3, those of simulated pods (which the stages of package fakenodes make) 4 to
// 254, those of simulated nodes 255.
func Addresses(slot int) string { return fmt.Sprintf("%d.0.0.0/8", 240+slot) }

// FakeNodeIP is the address of the n-th simulated node (1 to 1000) of the i-th member.
func FakeNodeIP(slot, i, n int) string {
	return fmt.Sprintf("%d.255.%d.%d", 240+slot, i<<2|n>>8, n&0xff)
}
