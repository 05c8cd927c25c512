// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ranges

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Part is the closing of the set's ranges as a part of `up`.
func Part() run.Part {
	return run.Part{Name: "address ranges", Up: up, Down: down}
}

func up(_ context.Context, env *run.Env) error {
	if os.Geteuid() != 0 {
		return nil
	}
	routes, err := routes(env.Cluster.Slot)
	if err != nil {
		return err
	}
	for _, r := range routes {
		err := netlink.RouteReplace(&r)
		if errors.Is(err, unix.EPERM) {
			return nil // root of a container that may not touch the network
		}
		if err != nil {
			return fmt.Errorf("close %s: %w", r.Dst, err)
		}
	}
	return nil
}

func down(_ context.Context, env *run.Env) error {
	if os.Geteuid() != 0 {
		return nil
	}
	routes, err := routes(env.Cluster.Slot)
	if err != nil {
		return err
	}
	for _, r := range routes {
		if err := netlink.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("open %s: %w", r.Dst, err)
		}
	}
	return nil
}

// routes are those that close the ranges of the set with the given slot.
func routes(slot int) ([]netlink.Route, error) {
	var list []netlink.Route
	for _, cidr := range []string{state.Addresses(slot), state.ServiceCIDRs(slot)} {
		_, dst, err := net.ParseCIDR(cidr)
		if err != nil {
			return nil, err
		}
		list = append(list, netlink.Route{Dst: dst, Type: unix.RTN_UNREACHABLE, Table: unix.RT_TABLE_MAIN})
	}
	return list, nil
}
