// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

// detachInterval is how often a cluster on its way out is looked at again while works or add-ons remain.
const detachInterval = time.Second

// detach takes a deleted cluster apart: add-ons, then works, then rights and namespace, then its finalizer.
func (r *AcceptReconciler) detach(ctx context.Context, cluster *clusterv1.ManagedCluster) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(cluster, clusterv1.ManagedClusterFinalizer) {
		return reconcile.Result{}, nil
	}
	remaining, err := r.clear(ctx, cluster.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	before := cluster.DeepCopy()
	if meta.SetStatusCondition(&cluster.Status.Conditions, deleting(remaining, r.Clock.Now())) {
		if err := r.Client.Status().Patch(ctx, cluster, locked(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("write condition: %w", err)
		}
	}
	if remaining != "" {
		return reconcile.Result{RequeueAfter: detachInterval}, nil
	}
	if err := r.dismantle(ctx, cluster.Name); err != nil {
		return reconcile.Result{}, err
	}
	before = cluster.DeepCopy()
	controllerutil.RemoveFinalizer(cluster, clusterv1.ManagedClusterFinalizer)
	return reconcile.Result{}, client.IgnoreNotFound(r.Client.Patch(ctx, cluster, locked(before)))
}

// clear deletes add-ons and, when these are gone, works. It says what still remains.
func (r *AcceptReconciler) clear(ctx context.Context, cluster string) (string, error) {
	namespace := client.InNamespace(identity.Namespace(cluster))
	addons := &addonv1beta1.ManagedClusterAddOnList{}
	works := &workv1.ManifestWorkList{}
	if err := r.Client.List(ctx, addons, namespace); err != nil {
		return "", fmt.Errorf("list add-ons: %w", err)
	}
	if n := len(addons.Items); n > 0 {
		return fmt.Sprintf("%d add-ons", n), r.Client.DeleteAllOf(ctx, &addonv1beta1.ManagedClusterAddOn{}, namespace)
	}
	if err := r.Client.List(ctx, works, namespace); err != nil {
		return "", fmt.Errorf("list works: %w", err)
	}
	if n := len(works.Items); n > 0 {
		return fmt.Sprintf("%d works", n), r.Client.DeleteAllOf(ctx, &workv1.ManifestWork{}, namespace)
	}
	return "", nil
}

func (r *AcceptReconciler) dismantle(ctx context.Context, cluster string) error {
	if err := revoke(ctx, r.Client, cluster); err != nil {
		return err
	}
	if err := releaseWorkBinding(ctx, r.Client, cluster); err != nil {
		return fmt.Errorf("release work binding: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: identity.Namespace(cluster)}}
	return wrap(deleteOnce(ctx, r.Client, namespace), "namespace", namespace.Name)
}

func deleting(remaining string, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionDeleting, Status: metav1.ConditionTrue,
		Reason: clusterv1.ConditionDeletingReasonNoResource, Message: "nothing is left in the cluster's namespace",
		LastTransitionTime: metav1.NewTime(now),
	}
	if remaining != "" {
		condition.Status, condition.Reason = metav1.ConditionFalse, clusterv1.ConditionDeletingReasonResourceRemaining
		condition.Message = "waiting for " + remaining
	}
	return condition
}
