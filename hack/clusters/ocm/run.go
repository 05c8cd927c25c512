// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/agent"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/crds"
)

// Run runs the parts of the stand-in that the options name until the context
// ends. API servers may be away, at the start and later: they are waited for.
// An error means that the options cannot be used or that a controller gave up.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.APIDir == "" {
		dir, err := crds.ModuleDir(ctx, "")
		if err != nil {
			return err
		}
		o.APIDir = dir
	}
	hub, err := load(o.HubKubeconfig)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if o.Run != RunMembers {
		group.Go(func() error { return runHub(ctx, hub, o.APIDir) })
	}
	if o.Run != RunHub {
		agents, err := newAgents(o, hub)
		if err != nil {
			return err
		}
		for _, a := range agents {
			group.Go(func() error {
				a.Run(ctx)
				return nil
			})
		}
	}
	return group.Wait()
}

func newAgents(o Options, hub *rest.Config) ([]*agent.Agent, error) {
	definitions, err := crds.Member(o.APIDir)
	if err != nil {
		return nil, err
	}
	agents := make([]*agent.Agent, 0, len(o.Members))
	for _, m := range o.Members {
		member, err := load(m.Kubeconfig)
		if err != nil {
			return nil, err
		}
		a, err := agent.New(agent.Config{
			Cluster: m.Name, Hub: hub, Member: member, LeaseDuration: o.LeaseDuration, CRDs: definitions,
		})
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// load reads a kubeconfig. Limits on the number of requests are lifted: API servers have their own.
func load(file string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	cfg.QPS, cfg.UserAgent = -1, CommandName
	return cfg, nil
}
