// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/pki"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/registry"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

func (n node) containerdName() string { return n.name() + "-containerd" }

func (n node) kubeletName() string { return n.name() + "-kubelet" }

// up runs the node's container runtime and kubelet.
func (n node) up(ctx context.Context, env *run.Env) error {
	for _, dir := range []string{"tmp", "pods", "etc"} {
		if err := os.MkdirAll(n.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := n.ensureCgroup(); err != nil {
		return err
	}
	if err := n.ensureContainerd(ctx, env); err != nil {
		return err
	}
	return n.ensureKubelet(ctx, env)
}

func (n node) ensureContainerd(ctx context.Context, env *run.Env) error {
	address, err := registry.Address(env.Cluster)
	if err != nil {
		return err
	}
	runc, err := systemProgram("runc")
	if err != nil {
		return err
	}
	config := n.path("etc", "containerd.toml")
	print, err := writeConfig(n.runtimeValues(address, runc, env.Programs), map[string]string{
		"containerd.toml": config,
		"hosts.toml":      n.path("etc", "registries", "_default", "hosts.toml"),
		"cni.conflist":    n.path("etc", "cni", "10-flotilla.conflist"),
	})
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(n.socket()), n.shimSockets()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	_, err = env.Processes.Ensure(ctx, process.Spec{
		Name: n.containerdName(), Role: process.Runtime,
		Path: env.Programs[assets.Containerd], Args: []string{"--config", config},
		Env:         n.environment(filepath.Dir(env.Programs[assets.ContainerdShim])),
		Fingerprint: print,
		Ready:       process.ListenReady("unix", n.socket()),
	})
	return err
}

func (n node) ensureKubelet(ctx context.Context, env *run.Env) error {
	cluster, member := env.Cluster, state.MemberName(n.member)
	ca, err := controlplane.Authority(cluster, member)
	if err != nil {
		return err
	}
	identity := controlplane.Identity{User: "system:node:" + n.name(), Groups: []string{"system:nodes"}}
	serving, err := ca.Ensure(cluster.Path("pki", member, "nodes"), n.name(),
		pki.Request{User: identity.User, Groups: identity.Groups, Hosts: []string{n.ip().String(), n.name()}})
	if err != nil {
		return err
	}
	kubeconfig := cluster.Path("config", member, n.name()+".kubeconfig")
	if err := controlplane.WriteKubeconfig(cluster, member, kubeconfig, "", identity); err != nil {
		return err
	}
	if err := state.WriteFile(n.path("etc", "resolv.conf"), fmt.Appendf(nil, "nameserver %s\n", n.bridgeAddress()), 0o644); err != nil {
		return err
	}
	config := n.path("etc", "kubelet.yaml")
	print, err := writeConfig(n.kubeletValues(ca, serving), map[string]string{"kubelet.yaml": config})
	if err != nil {
		return err
	}
	_, err = env.Processes.Ensure(ctx, process.Spec{
		Name: n.kubeletName(), Role: process.Kubelet,
		Path: env.Programs[assets.Kubelet],
		Args: []string{
			"--config=" + config,
			"--kubeconfig=" + kubeconfig,
			"--root-dir=" + n.path("kubelet"),
			"--cert-dir=" + n.path("pki"),
			"--hostname-override=" + n.name(),
			"--node-ip=" + n.ip().String(),
			"--node-labels=" + n.labels(cluster.Options.Zones),
		},
		Env:         n.environment(),
		Fingerprint: print,
		Ready:       process.HTTPReady(fmt.Sprintf("http://%s:10248/healthz", n.ip()), nil),
		Timeout:     2 * time.Minute,
	})
	return err
}

// labels are the node's topology, as --node-labels wants them.
func (n node) labels(zones []string) string {
	var list []string
	for key, value := range state.TopologyLabels(zones, n.member, n.number) {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// environment makes a process find the machine's programs, those in the given folders first, and no HTTP proxy: all it
// talks to is on this machine.
func (n node) environment(folders ...string) []string {
	return []string{
		"PATH=" + strings.Join(append(folders, systemPath), ":"),
		"HTTP_PROXY=", "HTTPS_PROXY=", "http_proxy=", "https_proxy=",
	}
}
