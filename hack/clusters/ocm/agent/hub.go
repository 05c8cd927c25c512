// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

// join makes the ManagedCluster the first time, and reads it. A cluster that is
// deleted later is not made again: for that the agent has to be started anew.
func (a *Agent) join(ctx context.Context) (*clusterv1.ManagedCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if !a.joined {
		err := a.admin.Create(ctx, a.newCluster())
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("join: %w", err)
		}
		a.joined = true
	}
	reader := a.admin
	if a.accepted {
		reader = a.hub
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := reader.Get(ctx, client.ObjectKey{Name: a.cfg.Cluster}, cluster); err != nil {
		a.accepted = false // a denied agent may not even read: ask as the one who joined
		return nil, fmt.Errorf("read ManagedCluster: %w", err)
	}
	a.accepted = meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted)
	return cluster, nil
}

func (a *Agent) newCluster() *clusterv1.ManagedCluster {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: a.cfg.Cluster}}
	cluster.Spec.LeaseDurationSeconds = int32(a.cfg.LeaseDuration / time.Second)
	cluster.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{
		URL: a.cfg.Member.Host, CABundle: a.member.caBundle,
	}}
	return cluster
}

func leaseDuration(cluster *clusterv1.ManagedCluster) time.Duration {
	if cluster.Spec.LeaseDurationSeconds <= 0 {
		return identity.DefaultLeaseSeconds * time.Second
	}
	return time.Duration(cluster.Spec.LeaseDurationSeconds) * time.Second
}

// report writes what was observed into the ManagedCluster, if it says anything new.
func (a *Agent) report(ctx context.Context, cluster *clusterv1.ManagedCluster, observed observation) error {
	status := statusOf(cluster.Status, observed, a.failures, a.clock.Now())
	if equality.Semantic.DeepEqual(cluster.Status, status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	before := cluster.DeepCopy()
	cluster.Status = status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.hub.Status().Patch(ctx, cluster, patch); err != nil {
		return fmt.Errorf("report status: %w", err)
	}
	return nil
}
