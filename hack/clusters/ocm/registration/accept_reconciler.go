// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/retry"
)

// healInterval is how often a cluster's objects, which are not watched, are looked at again.
const healInterval = time.Minute

// AcceptReconciler accepts clusters and makes what belongs to an accepted one.
type AcceptReconciler struct {
	// Client must read namespaces, leases and RBAC objects from the API server, not from a cache.
	Client client.Client
	Clock  clock.PassiveClock
}

// Setup adds the controller to a manager.
func (r *AcceptReconciler) Setup(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named("ocm-accept").
		For(&clusterv1.ManagedCluster{}).
		WithOptions(retry.Options()).
		Complete(retry.Quietly(reconcile.AsReconciler(r.Client, r)))
}

// Reconcile brings one cluster to where the hub wants it.
func (r *AcceptReconciler) Reconcile(ctx context.Context, cluster *clusterv1.ManagedCluster) (reconcile.Result, error) {
	if cluster.DeletionTimestamp != nil {
		return r.detach(ctx, cluster)
	}
	if admitted := admit(cluster, r.Clock.Now()); !equality.Semantic.DeepEqual(admitted, cluster) {
		if err := r.Client.Patch(ctx, admitted, locked(cluster)); err != nil {
			return reconcile.Result{}, fmt.Errorf("admit: %w", err)
		}
		cluster = admitted
	}
	if err := r.provide(ctx, cluster); err != nil {
		return reconcile.Result{}, err
	}
	before := cluster.DeepCopy()
	if meta.SetStatusCondition(&cluster.Status.Conditions, accepted(cluster, r.Clock.Now())) {
		if err := r.Client.Status().Patch(ctx, cluster, locked(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("write condition: %w", err)
		}
	}
	return reconcile.Result{RequeueAfter: healInterval}, nil
}

// provide makes the namespace, the rights and the lease of an accepted cluster, and takes the rights of a denied one.
func (r *AcceptReconciler) provide(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	if !cluster.Spec.HubAcceptsClient {
		return revoke(ctx, r.Client, cluster.Name)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: identity.Namespace(cluster.Name)}}
	if _, err := controllerutil.CreateOrPatch(ctx, r.Client, namespace, func() error {
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, clusterv1.ClusterNameLabelKey, cluster.Name)
		return nil
	}); err != nil {
		return fmt.Errorf("namespace %s: %w", namespace.Name, err)
	}
	if err := grant(ctx, r.Client, cluster.Name); err != nil {
		return err
	}
	return r.ensureLease(ctx, cluster)
}

// ensureLease makes the lease, renewed now: the agent has a whole grace period to come.
func (r *AcceptReconciler) ensureLease(ctx context.Context, cluster *clusterv1.ManagedCluster) error {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: identity.Namespace(cluster.Name), Name: identity.LeaseName}
	err := r.Client.Get(ctx, key, lease)
	if err == nil || !apierrors.IsNotFound(err) {
		return wrap(err, "lease", key.String())
	}
	lease.ObjectMeta = metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{clusterv1.ClusterNameLabelKey: cluster.Name},
	}
	lease.Spec.HolderIdentity = ptr.To(identity.LeaseName)
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(leaseDuration(cluster) / time.Second))
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(r.Clock.Now()))
	if err := r.Client.Create(ctx, lease); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create lease %s: %w", key, err)
	}
	return nil
}
