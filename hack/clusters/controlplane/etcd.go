// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
)

// quota of etcd's data in bytes; beyond it etcd refuses writes.
const quota = 8 << 30

// ensureEtcd runs the one etcd of the set and returns its URL. Data is not forced to the disk at each write, which makes
// it many times as fast; a machine that crashes may lose it.
func ensureEtcd(ctx context.Context, env *run.Env) (string, error) {
	client, err := env.Cluster.Port("etcd/client")
	if err != nil {
		return "", err
	}
	peer, err := env.Cluster.Port("etcd/peer")
	if err != nil {
		return "", err
	}
	clientURL, peerURL := fmt.Sprintf("http://%s:%d", loopback, client), fmt.Sprintf("http://%s:%d", loopback, peer)
	_, err = env.Processes.Ensure(ctx, process.Spec{
		Name: "etcd",
		Role: process.Store,
		Path: env.Programs[assets.Etcd],
		Args: []string{
			"--name=clusters",
			"--data-dir=" + env.Cluster.Path("data", "etcd"),
			"--listen-client-urls=" + clientURL,
			"--advertise-client-urls=" + clientURL,
			"--listen-peer-urls=" + peerURL,
			"--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=clusters=" + peerURL,
			"--unsafe-no-fsync",
			fmt.Sprintf("--quota-backend-bytes=%d", quota),
			"--log-level=warn",
		},
		Ready: process.HTTPReady(clientURL+"/health", nil),
	})
	return clientURL, err
}
