// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// hubControllers are those a cluster needs that runs no workloads.
var hubControllers = []string{
	"namespace-controller", "garbage-collector-controller", "clusterrole-aggregation-controller",
	"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
	"certificatesigningrequest-signing-controller", "certificatesigningrequest-approving-controller",
	"certificatesigningrequest-cleaner-controller", "token-cleaner-controller", "resourcequota-controller",
}

// memberControllers are all those that are on by default, and the cleaner of bootstrap tokens.
var memberControllers = []string{"*", "token-cleaner-controller"}

// ensureControllers runs what drives the plane: the controllers and, where pods run, the scheduler.
func (p *plane) ensureControllers(ctx context.Context, env *run.Env) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.ensureManager(ctx, env) })
	if !p.isHub() {
		g.Go(func() error { return p.ensureScheduler(ctx, env) })
	}
	return g.Wait()
}

func (p *plane) ensureManager(ctx context.Context, env *run.Env) error {
	kubeconfig := p.configPath("controller-manager.kubeconfig")
	if err := WriteKubeconfig(p.cluster, p.name, kubeconfig, "", Identity{User: "system:kube-controller-manager"}); err != nil {
		return err
	}
	controllers := memberControllers
	if p.isHub() {
		controllers = hubControllers
	}
	_, err := env.Processes.Ensure(ctx, process.Spec{
		Name: p.name + "-" + portManager,
		Role: process.Controller,
		Path: env.Programs[assets.ControllerManager],
		Args: append(p.servingArgs(portManager, kubeconfig),
			"--kubeconfig="+kubeconfig,
			"--controllers="+strings.Join(controllers, ","),
			"--leader-elect=false",
			"--use-service-account-credentials=true",
			"--service-account-private-key-file="+p.serviceAccountKey,
			"--root-ca-file="+p.ca.CertPath,
			"--cluster-signing-cert-file="+p.ca.CertPath,
			"--cluster-signing-key-file="+p.ca.KeyPath,
			"--cluster-name="+p.name,
			"--kube-api-qps=300",
			"--kube-api-burst=600",
		),
		Ready: process.HTTPReady(p.url(portManager, "/healthz"), nil),
	})
	return err
}

// schedulerConfig lets the scheduler make more requests a second than it does by default.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 500, burst: 1000}
`

func (p *plane) ensureScheduler(ctx context.Context, env *run.Env) error {
	kubeconfig, config := p.configPath("scheduler.kubeconfig"), p.configPath("scheduler.yaml")
	if err := WriteKubeconfig(p.cluster, p.name, kubeconfig, "", Identity{User: "system:kube-scheduler"}); err != nil {
		return err
	}
	if err := state.WriteFile(config, fmt.Appendf(nil, schedulerConfig, kubeconfig), 0o644); err != nil {
		return err
	}
	_, err := env.Processes.Ensure(ctx, process.Spec{
		Name:  p.name + "-" + portScheduler,
		Role:  process.Controller,
		Path:  env.Programs[assets.Scheduler],
		Args:  append(p.servingArgs(portScheduler, kubeconfig), "--config="+config),
		Ready: process.HTTPReady(p.url(portScheduler, "/healthz"), nil),
	})
	return err
}

// servingArgs are those that say where a controller serves its health and metrics, and whom it lets see them.
func (p *plane) servingArgs(port, kubeconfig string) []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + p.port(port),
		"--cert-dir=" + p.cluster.Path("data", p.name, port),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--profiling=false",
	}
}
