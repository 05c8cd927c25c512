// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"errors"
	"fmt"
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
	check, err := availability(hubKubeconfig, clusters)
	if err != nil {
		return err
	}
	lacking := errors.New("not asked yet")
	err = wait.PollUntilContextCancel(ctx, availablePoll, true, func(ctx context.Context) (bool, error) {
		if err := check(ctx); ctx.Err() == nil {
			lacking = err
		}
		return lacking == nil, nil
	})
	if err != nil {
		return fmt.Errorf("clusters are not available: %w: %w", err, lacking)
	}
	return nil
}

// availability gives a function that says what the clusters lack, nil if nothing.
func availability(hubKubeconfig string, clusters []string) (func(context.Context) error, error) {
	cfg, err := load(hubKubeconfig)
	if err != nil {
		return nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to hub: %w", err)
	}
	return func(ctx context.Context) error {
		problems := make([]error, 0, len(clusters))
		for _, name := range clusters {
			problems = append(problems, lackingOf(ctx, c, name))
		}
		return errors.Join(problems...)
	}, nil
}

func lackingOf(ctx context.Context, c client.Reader, name string) error {
	cluster := &clusterv1.ManagedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, kind := range []string{
		clusterv1.ManagedClusterConditionHubAccepted,
		clusterv1.ManagedClusterConditionJoined,
		clusterv1.ManagedClusterConditionAvailable,
	} {
		if !meta.IsStatusConditionTrue(cluster.Status.Conditions, kind) {
			return fmt.Errorf("%s: %s is not True", name, kind)
		}
	}
	return nil
}
