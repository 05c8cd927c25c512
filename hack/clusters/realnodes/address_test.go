// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"net/netip"
	"testing"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

const maxMembers = 63

func TestAddressesDoNotCollide(t *testing.T) {
	seen := map[string]string{}
	claim := func(what, of string) {
		if other, ok := seen[what]; ok {
			t.Fatalf("%s belongs to %s and to %s", what, of, other)
		}
		seen[what] = of
	}
	for slot := range state.Slots {
		p := place{slot: slot}
		claim(p.link(), "set")
		claim(p.bridgeAddress().String(), p.link())
		for _, n := range p.wanted(state.Options{Members: maxMembers, RealNodes: maxNodes}) {
			claim(n.link(), n.link())
			claim(n.ip().String(), n.link())
			claim(n.pods().String(), n.link())
			if n.pods() != n.pods().Masked() || !n.pods().Contains(n.gateway()) {
				t.Fatalf("%s: gateway %s of %s", n.link(), n.gateway(), n.pods())
			}
			for _, a := range []netip.Addr{n.ip(), n.gateway()} {
				if !p.realAddresses().Contains(a) {
					t.Fatalf("%s: %s is not in %s", n.link(), a, p.realAddresses())
				}
			}
			if n.pods().Contains(n.ip()) {
				t.Fatalf("%s: the node's address %s is in %s", n.link(), n.ip(), n.pods())
			}
		}
	}
}

func TestRealAddressesAreNotThoseOfFakeNodesAndPods(t *testing.T) {
	for slot := range state.Slots {
		p := place{slot: slot}
		if pods := p.address(4 << 16); p.realAddresses().Contains(pods) {
			t.Fatalf("slot %d: simulated pods have %s and up, real nodes %s", slot, pods, p.realAddresses())
		}
		for m := range maxMembers {
			fake := netip.MustParseAddr(state.FakeNodeIP(slot, m+1, 1000))
			if p.realAddresses().Contains(fake) || !p.addresses().Contains(fake) {
				t.Fatalf("slot %d: a simulated node of member %d has %s", slot, m+1, fake)
			}
		}
	}
}

func TestNamesFit(t *testing.T) {
	n := node{place: place{slot: state.Slots - 1}, member: maxMembers, number: maxNodes}
	for what, length := range map[string]struct{ have, most int }{
		"interface":        {len(n.link()), 15},
		"folder of shims":  {len(n.shimSockets()), 42},
		"runtime's socket": {len(n.socket() + ".ttrpc"), 107},
		"kubelet's socket": {len(n.path("kubelet", "pod-resources", "kubelet.sock")), 107},
	} {
		if length.have > length.most {
			t.Errorf("%s: %d characters, may be %d", what, length.have, length.most)
		}
	}
}
