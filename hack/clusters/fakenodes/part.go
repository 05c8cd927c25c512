// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fakenodes

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Part is the simulated nodes as a part of `up`.
func Part() run.Part {
	return run.Part{
		Name: "fake nodes",
		Needs: func(o state.Options) []string {
			if o.FakeNodes == 0 {
				return nil
			}
			return []string{assets.Kwok}
		},
		Up: up,
	}
}

func up(ctx context.Context, env *run.Env) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := 1; i <= env.Cluster.Options.Members; i++ {
		g.Go(func() error { return ensureMember(ctx, env, i) })
	}
	return g.Wait()
}

// ensureMember brings the i-th member's nodes and kwok in line. With no nodes wanted kwok is stopped after the last node
// is gone.
func ensureMember(ctx context.Context, env *run.Env, i int) error {
	member := state.MemberName(i)
	config, err := controlplane.RESTConfig(env.Cluster, member)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	want := wantedNodes(env.Cluster.Slot, env.Cluster.Options, i)
	if err := ensureNodes(ctx, client, want); err != nil {
		return fmt.Errorf("nodes of %s: %w", member, err)
	}
	if len(want) == 0 {
		return env.Processes.Stop(ctx, processName(member))
	}
	spec, err := kwokSpec(env, i)
	if err != nil {
		return err
	}
	if !env.Processes.Runs(spec) {
		if err := dropLeases(ctx, client, want); err != nil {
			return fmt.Errorf("leases of %s: %w", member, err)
		}
	}
	started, err := env.Processes.Ensure(ctx, spec)
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, client, len(want)); err != nil || !started {
		return err
	}
	return catchUp(ctx, client, want)
}

func processName(member string) string { return member + "-kwok" }

// kwokSpec writes kwok's files for the i-th member and says how to run it.
func kwokSpec(env *run.Env, i int) (process.Spec, error) {
	c, member := env.Cluster, state.MemberName(i)
	port, err := c.Port(member + "/kwok")
	if err != nil {
		return process.Spec{}, err
	}
	kubeconfig, file := c.Path("config", member, "kwok.kubeconfig"), c.Path("config", member, "kwok.yaml")
	who := controlplane.Identity{User: "kwok", Groups: []string{"system:masters"}}
	if err := controlplane.WriteKubeconfig(c, member, kubeconfig, "", who); err != nil {
		return process.Spec{}, err
	}
	config, err := kwokConfig(c.Options.FakeNodes)
	if err != nil {
		return process.Spec{}, err
	}
	if err := state.WriteFile(file, config, 0o644); err != nil {
		return process.Spec{}, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	return process.Spec{
		Name: processName(member),
		Role: process.FakeNodes,
		Path: env.Programs[assets.Kwok],
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			"--config=" + file,
			"--manage-all-nodes=false",
			"--manage-nodes-with-label-selector=" + selector,
			"--cidr=" + state.FakeNodeIP(c.Slot, i, 0) + "/32", // kwok keeps account of pod addresses in it; ours are not its own
			"--node-ip=" + state.FakeNodeIP(c.Slot, i, 0),
			"--server-address=" + address,
		},
		Fingerprint: process.Fingerprint(config),
		Ready:       process.HTTPReady("http://"+address+"/healthz", nil),
	}, nil
}
