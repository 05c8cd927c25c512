// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/retry"
)

// Setup adds the controller to a manager. A Placement is resolved anew when it,
// its decisions, a set, a binding of its namespace, or what selectors and taints
// read of a cluster changes.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	everyPlacement := handler.EnqueueRequestsFromMapFunc(r.placements)
	return builder.ControllerManagedBy(mgr).
		Named("ocm-placement").
		For(&clusterv1beta1.Placement{}).
		Owns(&clusterv1beta1.PlacementDecision{}).
		Watches(&clusterv1.ManagedCluster{}, everyPlacement, builder.WithPredicates(clusterMatters())).
		Watches(&clusterv1beta2.ManagedClusterSet{}, everyPlacement,
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1beta2.ManagedClusterSetBinding{}, everyPlacement,
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(retry.Options()).
		Complete(retry.Quietly(reconcile.AsReconciler(r.Client, r)))
}

// placements names the Placements that an object can matter to: those of its namespace, or all of them.
func (r *Reconciler) placements(ctx context.Context, cause client.Object) []reconcile.Request {
	list := &clusterv1beta1.PlacementList{}
	if err := r.Client.List(ctx, list, client.InNamespace(cause.GetNamespace())); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// clusterMatters lets pass the changes of a cluster that a decision reads.
func clusterMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, okAfter := e.ObjectNew.(*clusterv1.ManagedCluster)
		return !okBefore || !okAfter ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
			!equality.Semantic.DeepEqual(before.Status.ClusterClaims, after.Status.ClusterClaims) ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
	}}
}
