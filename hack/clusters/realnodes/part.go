// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/forward"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Part is the real nodes as a part of `up`. It goes after the control planes and the image registry.
func Part() run.Part {
	return run.Part{Name: "real nodes", Needs: needs, Up: up, PreDown: preDown, Down: down}
}

func needs(o state.Options) []string {
	if o.RealNodes == 0 {
		return nil
	}
	return append([]string{assets.Kubelet, assets.Containerd, assets.ContainerdShim, assets.Ctr, assets.Crictl}, cniPlugins...)
}

func placeOf(c *state.Cluster) place { return place{slot: c.Slot, owner: c.Dir} }

func up(ctx context.Context, env *run.Env) error {
	p := placeOf(env.Cluster)
	nodes := p.wanted(env.Cluster.Options)
	if err := p.removeSurplus(ctx, env, nodes); err != nil || len(nodes) == 0 {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("--real-nodes needs root")
	}
	if err := ensurePackages(ctx, env.Progress); err != nil {
		return err
	}
	if err := raiseLimits("/proc/sys", env.Progress); err != nil {
		return err
	}
	if err := errors.Join(p.claim(ctx), p.linkFolder(env.Cluster), p.linkCrictl(env)); err != nil {
		return err
	}
	if err := p.ensureNetwork(len(env.Cluster.Options.Planes()), nodes); err != nil {
		return err
	}
	if err := p.ensureForwarder(ctx, env); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		g.Go(func() error {
			if err := n.up(ctx, env); err != nil {
				return err
			}
			return n.awaitReady(ctx, env.Cluster)
		})
	}
	return g.Wait()
}

// removeSurplus takes down the nodes that are there and no longer wanted.
func (p place) removeSurplus(ctx context.Context, env *run.Env, wanted []node) error {
	ours, err := p.claimed()
	if err != nil || !ours {
		return err
	}
	nodes, err := p.existing()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if slices.Contains(wanted, n) {
			continue
		}
		env.Progress.Printf("remove node %s", n.name())
		err := errors.Join(
			env.Processes.Stop(ctx, n.kubeletName()), n.removePods(ctx),
			env.Processes.Stop(ctx, n.containerdName()), n.remove(), n.deleteObject(ctx, env.Cluster))
		if err != nil {
			return err
		}
	}
	return nil
}

// linkCrictl puts crictl where people and tests find it without knowing the cache.
func (p place) linkCrictl(env *run.Env) error {
	link, target := p.path(assets.Crictl), env.Programs[assets.Crictl]
	if have, err := os.Readlink(link); err == nil && have == target {
		return nil
	}
	_ = os.Remove(link)
	return os.Symlink(target, link)
}

// ensureForwarder makes the API servers reachable for pods, at the IPs of their services `kubernetes`.
func (p place) ensureForwarder(ctx context.Context, env *run.Env) error {
	self, err := env.Processes.Self()
	if err != nil {
		return err
	}
	args := []string{"forward"}
	var first string
	for number, plane := range env.Cluster.Options.Planes() {
		port, err := env.Cluster.Port(plane + "/" + assets.APIServer)
		if err != nil {
			return err
		}
		listen := net.JoinHostPort(state.APIServiceIP(p.slot, number), "443")
		if number == 0 {
			first = listen
		}
		args = append(args, forward.Rule{Listen: listen, Target: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}.String())
	}
	_, err = env.Processes.Ensure(ctx, process.Spec{
		Name: "forwarder", Role: process.Network, Path: self, Args: args, Ready: process.ListenReady("tcp", first),
	})
	return err
}
