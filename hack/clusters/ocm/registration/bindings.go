// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/retry"
)

// BindingReconciler says on each binding whether the set it names exists.
type BindingReconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// Setup adds the controller to a manager.
func (r *BindingReconciler) Setup(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named("ocm-clustersetbinding").
		For(&clusterv1beta2.ManagedClusterSetBinding{}).
		Watches(&clusterv1beta2.ManagedClusterSet{}, handler.EnqueueRequestsFromMapFunc(r.bindingsOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(retry.Options()).
		Complete(retry.Quietly(reconcile.AsReconciler(r.Client, r)))
}

func (r *BindingReconciler) bindingsOf(ctx context.Context, set client.Object) []reconcile.Request {
	list := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.ClusterSet == set.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// Reconcile looks the set of a binding up.
func (r *BindingReconciler) Reconcile(ctx context.Context, binding *clusterv1beta2.ManagedClusterSetBinding) (reconcile.Result, error) {
	set := &clusterv1beta2.ManagedClusterSet{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: binding.Spec.ClusterSet}, set)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("look up cluster set: %w", err)
	}
	before := binding.DeepCopy()
	if !meta.SetStatusCondition(&binding.Status.Conditions, boundCondition(binding, err == nil, r.Clock.Now())) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.Client.Status().Patch(ctx, binding, locked(before))
}

func boundCondition(binding *clusterv1beta2.ManagedClusterSetBinding, found bool, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type: clusterv1beta2.ClusterSetBindingBoundType, Status: metav1.ConditionTrue, Reason: "ClusterSetBound",
		Message: "bound to set " + binding.Spec.ClusterSet, LastTransitionTime: metav1.NewTime(now),
		ObservedGeneration: binding.Generation,
	}
	if !found {
		condition.Status, condition.Reason = metav1.ConditionFalse, "ClusterSetNotFound"
		condition.Message = "there is no set " + binding.Spec.ClusterSet
	}
	return condition
}
