// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/crds"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// joinTimeout is how long members may take to become available.
const joinTimeout = 2 * time.Minute

// Part is Open Cluster Management as a part of `up`: when it is done every
// member is an accepted, joined and available ManagedCluster on the hub.
func Part() run.Part {
	return run.Part{Name: "cluster management", Up: up}
}

func up(ctx context.Context, env *run.Env) error {
	self, err := env.Processes.Self()
	if err != nil {
		return err
	}
	var source Source = StandIn{Executable: self}
	topology, err := topologyOf(ctx, env.Cluster)
	if err != nil {
		return err
	}
	processes, err := source.Processes(topology)
	if err != nil {
		return err
	}
	ready, err := availability(topology.HubKubeconfig, env.Cluster.Options.MemberNames())
	if err != nil {
		return err
	}
	for i, p := range processes {
		spec := process.Spec{Name: p.Name, Role: process.Fleet, Path: p.Path, Args: p.Args, Timeout: joinTimeout}
		if spec.Fingerprint, err = fingerprint(p.Path, topology); err != nil {
			return err
		}
		if i == len(processes)-1 {
			spec.Ready = ready
		}
		if _, err := env.Processes.Ensure(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

func topologyOf(ctx context.Context, c *state.Cluster) (Topology, error) {
	dir, err := crds.ModuleDir(ctx, c.Root)
	if err != nil {
		return Topology{}, err
	}
	t := Topology{HubKubeconfig: c.Kubeconfig(state.Hub), Options: Options{
		LeaseDuration: time.Duration(c.Options.LeaseSeconds) * time.Second, Run: RunAll, APIDir: dir,
	}}
	for _, name := range c.Options.MemberNames() {
		t.Members = append(t.Members, Member{Name: name, Kubeconfig: c.Kubeconfig(name)})
	}
	return t, nil
}

// fingerprint changes with the program and with the access to any cluster.
func fingerprint(program string, t Topology) (string, error) {
	files := []string{program, t.HubKubeconfig}
	for _, m := range t.Members {
		files = append(files, m.Kubeconfig)
	}
	sum := sha256.New()
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		sum.Write(raw)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
