// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	sdkv1beta2 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/retry"
)

// EnsureSets makes the sets "global" (every cluster) and "default" (by label) where they are missing.
func EnsureSets(ctx context.Context, c client.Client) error {
	for name, selector := range map[string]clusterv1beta2.ManagedClusterSelector{
		GlobalSet:  {SelectorType: clusterv1beta2.LabelSelector, LabelSelector: &metav1.LabelSelector{}},
		DefaultSet: {SelectorType: clusterv1beta2.ExclusiveClusterSetLabel},
	} {
		set := &clusterv1beta2.ManagedClusterSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
		set.Spec.ClusterSelector = selector
		if err := c.Create(ctx, set); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create cluster set %s: %w", name, err)
		}
	}
	return nil
}

// SetReconciler says on each cluster set whether it holds any cluster.
type SetReconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// Setup adds the controller to a manager.
func (r *SetReconciler) Setup(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named("ocm-clusterset").
		For(&clusterv1beta2.ManagedClusterSet{}).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.sets),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(retry.Options()).
		Complete(retry.Quietly(reconcile.AsReconciler(r.Client, r)))
}

func (r *SetReconciler) sets(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &clusterv1beta2.ManagedClusterSetList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// Reconcile counts the clusters of a set.
func (r *SetReconciler) Reconcile(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) (reconcile.Result, error) {
	selector, err := sdkv1beta2.BuildClusterSelector(set)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("selector of the set: %w", err))
	}
	clusters := &clusterv1.ManagedClusterList{}
	if err := r.Client.List(ctx, clusters, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list clusters: %w", err)
	}
	before := set.DeepCopy()
	if !meta.SetStatusCondition(&set.Status.Conditions, setCondition(len(clusters.Items), r.Clock.Now())) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.Client.Status().Patch(ctx, set, locked(before))
}

func setCondition(clusters int, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type: clusterv1beta2.ManagedClusterSetConditionEmpty, Status: metav1.ConditionFalse, Reason: "ClustersSelected",
		Message: fmt.Sprintf("the set holds %d clusters", clusters), LastTransitionTime: metav1.NewTime(now),
	}
	if clusters == 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, "NoClusterMatched"
	}
	return condition
}
