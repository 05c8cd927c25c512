// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/realnodes"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

const (
	loopback  = "127.0.0.1"
	namespace = "flotilla-system"
	// memberGates let in every kind, let labels protect from deletion, and budgets guard updates.
	memberGates = "ImagePullJobGate=true,PodUnavailableBudgetUpdateGate=true,ResourceDistributionGate=true,ResourcesDeletionProtection=true"
)

func (b *built) hub(ctx context.Context) error {
	return b.manager(ctx, state.Hub, hub, nil)
}

func (b *built) member(ctx context.Context, i int) error {
	member := state.MemberName(i)
	hubKubeconfig, err := b.agentAccess(ctx, member)
	if err != nil {
		return err
	}
	args := []string{
		"--hub-kubeconfig=" + hubKubeconfig, "--cluster-name=" + member,
		"--feature-gates=" + memberGates,
	}
	if err := b.manager(ctx, member, spoke, args); err != nil {
		return err
	}
	return b.nodeAgents(ctx, i)
}

// manager applies the manifests of the hub or spoke to a plane and runs the program there.
func (b *built) manager(ctx context.Context, plane, program string, args []string) error {
	ports := map[string]string{}
	for _, what := range []string{"webhook", "metrics", "health"} {
		port, err := b.Cluster.Port(plane + "/" + program + "/" + what)
		if err != nil {
			return err
		}
		ports[what] = strconv.Itoa(port)
	}
	base := map[string]string{hub: "hub", spoke: "spoke"}[program]
	if err := b.prepare(ctx, plane, base, net.JoinHostPort(loopback, ports["webhook"])); err != nil {
		return err
	}
	kubeconfig, err := b.kubeconfig(plane, program)
	if err != nil {
		return err
	}
	health := net.JoinHostPort(loopback, ports["health"])
	_, err = b.Processes.Ensure(ctx, process.Spec{
		Name: plane + "-" + program,
		Role: process.Component,
		Path: b.paths[program],
		Args: append([]string{
			"--kubeconfig=" + kubeconfig,
			"--namespace=" + namespace,
			"--metrics-addr=" + net.JoinHostPort(loopback, ports["metrics"]),
			"--health-probe-addr=" + health,
			"--webhook-host=" + loopback,
			// One process, which nobody starts again when a starved API server makes it lose its Lease.
			"--enable-leader-election=false",
			"--webhook-port=" + ports["webhook"],
		}, args...),
		Fingerprint: b.prints[program],
		Ready:       process.HTTPReady("http://"+health+"/readyz", nil),
	})
	if err != nil {
		return err
	}
	return b.answered(ctx, plane)
}

// prepare applies the manifests of a kustomize base to a plane.
func (b *built) prepare(ctx context.Context, plane, base, webhooks string) error {
	objects, err := manifests(b.Cluster.Root, base, webhooks)
	if err != nil {
		return err
	}
	c, err := clientOf(b.Cluster, plane)
	if err != nil {
		return err
	}
	return apply(ctx, c, objects)
}

// kubeconfig writes the kubeconfig by which the program is its service account in the plane.
func (b *built) kubeconfig(plane, program string) (string, error) {
	path := b.Cluster.Path("config", plane, program+".kubeconfig")
	return path, controlplane.WriteKubeconfig(b.Cluster, plane, path, "", controlplane.ServiceAccountIdentity(namespace, program))
}

// nodeAgents runs the agent of each real node of the i-th member.
func (b *built) nodeAgents(ctx context.Context, i int) error {
	if b.Cluster.Options.RealNodes == 0 {
		return nil
	}
	member := state.MemberName(i)
	if err := b.prepare(ctx, member, "nodeagent", ""); err != nil {
		return err
	}
	for n := 1; n <= b.Cluster.Options.RealNodes; n++ {
		node := state.RealNodeName(i, n)
		kubeconfig, err := agentKubeconfig(b.Cluster, member, node)
		if err != nil {
			return err
		}
		if err := b.nodeAgent(ctx, node, realnodes.Socket(b.Cluster, i, n), kubeconfig); err != nil {
			return err
		}
	}
	return nil
}

func (b *built) nodeAgent(ctx context.Context, node, socket, kubeconfig string) error {
	port, err := b.Cluster.Port(node + "/" + nodeagent)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(loopback, strconv.Itoa(port))
	_, err = b.Processes.Ensure(ctx, process.Spec{
		Name: node + "-" + nodeagent,
		Role: process.Component,
		Path: b.paths[nodeagent],
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			"--namespace=" + namespace,
			"--node-name=" + node,
			"--socket-file=unix://" + socket,
			"--metrics-addr=" + address,
		},
		Fingerprint: b.prints[nodeagent],
		Ready:       process.HTTPReady(fmt.Sprintf("http://%s/readyz", address), nil),
	})
	return err
}
