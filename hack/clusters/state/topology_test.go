// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestZonesAreGivenInTurn(t *testing.T) {
	var got []string
	for n := 1; n <= 5; n++ {
		got = append(got, TopologyLabels([]string{"a", "b"}, 2, n)["topology.kubernetes.io/zone"])
	}
	if diff := cmp.Diff([]string{"a", "b", "a", "b", "a"}, got); diff != "" {
		t.Error(diff)
	}
	if got := TopologyLabels([]string{"a"}, 2, 1)["topology.kubernetes.io/region"]; got != "region-2" {
		t.Errorf("region %s", got)
	}
}

func TestRangesOfPlanesDoNotOverlap(t *testing.T) {
	reserved := netip.MustParsePrefix("198.18.0.0/15")
	seen := map[netip.Addr]string{}
	for slot := range Slots {
		all := netip.MustParsePrefix(ServiceCIDRs(slot))
		for p := range maxMembers + 1 {
			cidr := netip.MustParsePrefix(ServiceCIDR(slot, p))
			if cidr != cidr.Masked() || !all.Contains(cidr.Addr()) || !reserved.Contains(cidr.Addr()) {
				t.Fatalf("slot %d plane %d: %s is not a range of %s", slot, p, cidr, all)
			}
			if other, taken := seen[cidr.Addr()]; taken {
				t.Fatalf("slot %d plane %d has the range of %s", slot, p, other)
			}
			seen[cidr.Addr()] = cidr.String()
			if ip := netip.MustParseAddr(APIServiceIP(slot, p)); ip != cidr.Addr().Next() {
				t.Fatalf("slot %d plane %d: the API server's service IP is %s in %s", slot, p, ip, cidr)
			}
		}
	}
}

func TestFakeNodeAddressesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for i := 1; i <= maxMembers; i++ {
		for n := 0; n <= 1000; n++ {
			ip := FakeNodeIP(Slots-1, i, n)
			if addr, err := netip.ParseAddr(ip); err != nil || !netip.MustParsePrefix(Addresses(Slots-1)).Contains(addr) {
				t.Fatalf("member %d node %d has %s: %v", i, n, ip, err)
			}
			if seen[ip] || ip == "255.255.255.255" {
				t.Fatalf("member %d node %d has %s", i, n, ip)
			}
			seen[ip] = true
		}
	}
}
