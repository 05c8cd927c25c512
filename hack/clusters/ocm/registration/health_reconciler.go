// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/retry"
)

// HealthReconciler watches over the leases of accepted clusters and keeps the health taints.
type HealthReconciler struct {
	Client client.Client
	// Live reads leases from the API server, not from a cache which would not know that the server is away.
	Live  client.Reader
	Clock clock.PassiveClock

	contacts contacts
}

// Setup adds the controller to a manager. It has one worker.
func (r *HealthReconciler) Setup(mgr manager.Manager) error {
	r.contacts = contacts{}
	return builder.ControllerManagedBy(mgr).
		Named("ocm-health").
		For(&clusterv1.ManagedCluster{}).
		WithOptions(retry.Options()).
		Complete(retry.Quietly(reconcile.AsReconciler(r.Client, r)))
}

// Reconcile judges one cluster and looks again after a lease duration.
func (r *HealthReconciler) Reconcile(ctx context.Context, cluster *clusterv1.ManagedCluster) (reconcile.Result, error) {
	if cluster.DeletionTimestamp != nil {
		delete(r.contacts, cluster.Name)
		return reconcile.Result{}, nil
	}
	period := leaseDuration(cluster)
	if cluster.Spec.HubAcceptsClient {
		if err := r.judge(ctx, cluster, period); err != nil {
			return reconcile.Result{}, err
		}
	}
	taints := taintsFor(cluster.Spec.Taints, cluster.Status.Conditions, r.Clock.Now())
	if !equality.Semantic.DeepEqual(taints, cluster.Spec.Taints) {
		before := cluster.DeepCopy()
		cluster.Spec.Taints = taints
		if err := r.Client.Patch(ctx, cluster, locked(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("write taints: %w", err)
		}
	}
	return reconcile.Result{RequeueAfter: period}, nil
}

// judge sets Available to Unknown on the hub when the lease has expired.
func (r *HealthReconciler) judge(ctx context.Context, cluster *clusterv1.ManagedCluster, period time.Duration) error {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: identity.Namespace(cluster.Name), Name: identity.LeaseName}
	if err := r.Live.Get(ctx, key, lease); err != nil {
		return client.IgnoreNotFound(err)
	}
	now := r.Clock.Now()
	lastSeen := r.contacts.record(cluster.Name, now, 2*period)
	if renewed := lease.Spec.RenewTime; renewed != nil && renewed.After(lastSeen) {
		lastSeen = renewed.Time
	}
	condition := expired(cluster, lastSeen, now)
	if condition == nil {
		return nil
	}
	before := cluster.DeepCopy()
	if !meta.SetStatusCondition(&cluster.Status.Conditions, *condition) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, cluster, locked(before)); err != nil {
		return fmt.Errorf("write condition: %w", err)
	}
	return nil
}

// locked is a patch that fails if somebody else wrote in between: lists of custom resources are replaced whole.
func locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}
