// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
)

// removePodsTimeout bounds the removal of pods through the container runtime. What it leaves is removed by force.
const removePodsTimeout = 20 * time.Second

// preDown stops the kubelets, then removes the pods through the container runtimes, which undo what CNI plugins did.
func preDown(ctx context.Context, env *run.Env) error {
	p := placeOf(env.Cluster)
	nodes, err := p.ours()
	if err != nil || len(nodes) == 0 {
		return err
	}
	if err := env.Processes.StopRole(ctx, process.Kubelet); err != nil {
		return err
	}
	var g errgroup.Group
	for _, n := range nodes {
		g.Go(func() error { return n.removePods(ctx) })
	}
	// What is left over is removed by force in down.
	_ = g.Wait()
	return nil
}

// down removes everything of the set from the machine.
func down(ctx context.Context, env *run.Env) error {
	p := placeOf(env.Cluster)
	ours, err := p.claimed()
	if err != nil || !ours {
		return err
	}
	return p.remove(ctx)
}

// ours are the nodes of the set that have a folder.
func (p place) ours() ([]node, error) {
	ours, err := p.claimed()
	if err != nil || !ours {
		return nil, err
	}
	return p.existing()
}

// removePods removes all pods of the node through its container runtime, if that runs.
func (n node) removePods(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removePodsTimeout)
	defer cancel()
	if process.ListenReady("unix", n.socket())(ctx) != nil {
		return nil
	}
	crictl := n.place.path(assets.Crictl)
	cmd := exec.CommandContext(ctx, crictl, "--runtime-endpoint", "unix://"+n.socket(), "--timeout", "10s", "rmp", "--all", "--force")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("remove the pods of %s: %w\n%s", n.name(), err, out)
	}
	return nil
}

// remove removes the set's nodes, network and folder from the machine. Its kubelets and container runtimes are stopped.
func (p place) remove(ctx context.Context) error {
	nodes, err := p.existing()
	if err != nil {
		return err
	}
	var g errgroup.Group
	for _, n := range nodes {
		g.Go(n.remove)
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := errors.Join(removeLinks(p.link()), p.removeRoutes(), p.removeForwardRule(), p.removeHostPorts(), ctx.Err()); err != nil {
		return err
	}
	err = os.RemoveAll(p.path())
	_ = os.Remove(machineDir) // if this was the last set
	return err
}

// remove removes what is left of a node whose processes were stopped: shims, containers, mounts, cgroup, interfaces and
// files. Files are deleted only after everything under the node's folder was unmounted.
func (n node) remove() error {
	killShims(n.socket())
	if err := n.removeCgroup(); err != nil {
		return err
	}
	if err := unmountUnder(n.path()); err != nil {
		return err
	}
	if err := errors.Join(removeLinks(n.link()), n.removeCNICache()); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(n.path()), os.RemoveAll(filepath.Dir(n.socket())), os.RemoveAll(n.shimSockets()))
}

// cniCache is where libcni remembers what it did; containerd does not let it be anywhere else.
const cniCache = "/var/lib/cni/results"

// removeCNICache removes what libcni remembers of the node's network, and its folders where nothing else is in them.
func (n node) removeCNICache() error {
	paths, err := filepath.Glob(filepath.Join(cniCache, n.link()+"-*"))
	errs := []error{err}
	for _, path := range paths {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, dir := range []string{cniCache, filepath.Dir(cniCache)} {
		_ = os.Remove(dir)
	}
	return errors.Join(errs...)
}
