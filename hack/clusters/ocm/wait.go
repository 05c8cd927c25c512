// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const availablePoll = 200 * time.Millisecond

// WaitAvailable returns once all named clusters are accepted, joined and
// available on the hub whose kubeconfig is given, with stand-in or real OCM
// alike. When the context ends first, the error says what each cluster lacks.
func WaitAvailable(ctx context.Context, hubKubeconfig string, clusters []string) error {
	cfg, err := load(hubKubeconfig)
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("connect to hub: %w", err)
	}
	var lacking []string
	err = wait.PollUntilContextCancel(ctx, availablePoll, true, func(ctx context.Context) (bool, error) {
		lacking = lackingOf(ctx, c, clusters)
		return len(lacking) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("clusters are not available: %s: %w", strings.Join(lacking, "; "), err)
	}
	return nil
}

func lackingOf(ctx context.Context, c client.Reader, clusters []string) []string {
	var out []string
	for _, name := range clusters {
		cluster := &clusterv1.ManagedCluster{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		for _, kind := range []string{
			clusterv1.ManagedClusterConditionHubAccepted,
			clusterv1.ManagedClusterConditionJoined,
			clusterv1.ManagedClusterConditionAvailable,
		} {
			if !meta.IsStatusConditionTrue(cluster.Status.Conditions, kind) {
				out = append(out, fmt.Sprintf("%s: %s is not True", name, kind))
				break
			}
		}
	}
	return out
}
