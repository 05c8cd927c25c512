// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// The programs, which are the names of their service accounts too.
const (
	hub       = "flotilla-hub"
	spoke     = "flotilla-spoke"
	nodeagent = "flotilla-nodeagent"
)

// Part is our components as a part of `up`. It goes last.
func Part() run.Part { return run.Part{Name: "components", Up: up} }

func up(ctx context.Context, env *run.Env) error {
	if env.Cluster.Options.Components == state.ComponentsNone {
		return env.Processes.StopRole(ctx, process.Component)
	}
	b, err := build(ctx, env)
	if err != nil {
		return err
	}
	if err := b.hub(ctx); err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for i := 1; i <= env.Cluster.Options.Members; i++ {
		g.Go(func() error {
			if err := b.member(ctx, i); err != nil {
				return fmt.Errorf("%s: %w", state.MemberName(i), err)
			}
			return nil
		})
	}
	return g.Wait()
}

// built is the components, ready to be started.
type built struct {
	*run.Env
	paths  map[string]string
	prints map[string]string
}

// build builds the programs that the set needs.
func build(ctx context.Context, env *run.Env) (*built, error) {
	names := []string{hub, spoke}
	if env.Cluster.Options.RealNodes > 0 {
		names = append(names, nodeagent)
	}
	b := &built{Env: env, prints: map[string]string{}}
	var err error
	if b.paths, err = env.Source.Own(ctx, env.Cluster.Path("bin"), names...); err != nil {
		return nil, err
	}
	for name, path := range b.paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		b.prints[name] = process.Fingerprint(raw)
	}
	return b, nil
}
