// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// ensureNetwork makes the set's bridge with the addresses of the API servers and nodes, and keeps its packets inside.
func (p place) ensureNetwork(planes int, nodes []node) error {
	addresses := []netip.Prefix{single(p.bridgeAddress())}
	for plane := range planes {
		addresses = append(addresses, single(netip.MustParseAddr(state.APIServiceIP(p.slot, plane))))
	}
	for _, n := range nodes {
		addresses = append(addresses, single(n.ip()))
	}
	if err := ensureBridge(p.link(), p.owner, addresses...); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := ensureBridge(n.link(), p.owner, netip.PrefixFrom(n.gateway(), podBits)); err != nil {
			return err
		}
	}
	if err := p.ensureRoutes(); err != nil {
		return err
	}
	return p.ensureForwardRule()
}

func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// ensureBridge makes the bridge with the addresses, up, passing on packets that come in by it. alias says whose it is.
func ensureBridge(name, alias string, addresses ...netip.Prefix) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}
	if err := netlink.LinkAdd(bridge); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add bridge %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetAlias(link, alias); err != nil {
		return fmt.Errorf("name the owner of %s: %w", name, err)
	}
	for _, a := range addresses {
		if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: ipNet(a)}); err != nil {
			return fmt.Errorf("add %s to %s: %w", a, name, err)
		}
	}
	// A kernel without IPv6 has no such file.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+name+"/forwarding", []byte("1"), 0); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// removeLinks deletes the named interfaces that are there.
func removeLinks(names ...string) error {
	var errs []error
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkDel(link)
		}
		if !errors.As(err, &netlink.LinkNotFoundError{}) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// table is the set's own routing table, and the priority of the rule that leads to it.
func (p place) table() int { return 7700 + p.slot }

// ensureRoutes answers "unreachable" to packets from the set's pods and nodes to anywhere but its own ranges. What in
// those ranges is on no interface is closed by package ranges.
func (p place) ensureRoutes() error {
	for _, r := range p.routes() {
		if err := netlink.RouteReplace(&r); err != nil {
			return fmt.Errorf("route %v: %w", r, err)
		}
	}
	rules, err := netlink.RuleList(netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	ours := p.rule()
	if slices.ContainsFunc(rules, func(r netlink.Rule) bool { return r.Table == ours.Table && r.Priority == ours.Priority }) {
		return nil
	}
	return netlink.RuleAdd(ours)
}

// routes of the set's own table: they let the main one decide about the set's ranges alone.
func (p place) routes() []netlink.Route {
	everything := netip.MustParsePrefix("0.0.0.0/0")
	return []netlink.Route{
		{Dst: ipNet(p.addresses()), Type: unix.RTN_THROW, Table: p.table()},
		{Dst: ipNet(p.services()), Type: unix.RTN_THROW, Table: p.table()},
		{Dst: ipNet(everything), Type: unix.RTN_UNREACHABLE, Table: p.table()},
	}
}

func (p place) rule() *netlink.Rule {
	r := netlink.NewRule()
	r.Family, r.Src, r.Table, r.Priority = netlink.FAMILY_V4, ipNet(p.realAddresses()), p.table(), p.table()
	return r
}

// removeRoutes undoes ensureRoutes.
func (p place) removeRoutes() error {
	errs := []error{ignore(netlink.RuleDel(p.rule()), unix.ENOENT, unix.ESRCH)}
	for _, r := range p.routes() {
		errs = append(errs, ignore(netlink.RouteDel(&r), unix.ESRCH, unix.ENOENT))
	}
	return errors.Join(errs...)
}

func ignore(err error, expected ...error) error {
	for _, e := range expected {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
