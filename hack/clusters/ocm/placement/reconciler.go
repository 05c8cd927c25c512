// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// Reconciler keeps the decisions of a Placement as Decide wants them.
type Reconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// Reconcile resolves one Placement and writes what changed. Placements that
// another scheduler decides, by annotation, are left alone. Decisions of a
// deleted Placement go with it, by their owner reference.
func (r *Reconciler) Reconcile(ctx context.Context, p *clusterv1beta1.Placement) (reconcile.Result, error) {
	if p.DeletionTimestamp != nil || p.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
		return reconcile.Result{}, nil
	}
	existing := &clusterv1beta1.PlacementDecisionList{}
	if err := r.Client.List(ctx, existing, client.InNamespace(p.Namespace),
		client.MatchingLabels{clusterv1beta1.PlacementLabel: p.Name}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list decisions: %w", err)
	}
	snapshot, err := r.gather(ctx, p, existing.Items)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := Decide(snapshot)
	wanted := decisionsOf(p.Name, plan.Groups)
	if err := r.applyDecisions(ctx, p, wanted, existing.Items); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.applyStatus(ctx, p, statusOf(p, plan, wanted, snapshot.Now)); err != nil {
		return reconcile.Result{}, err
	}
	if plan.NextChange.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(1, plan.NextChange.Sub(snapshot.Now))}, nil
}

func (r *Reconciler) gather(ctx context.Context, p *clusterv1beta1.Placement, existing []clusterv1beta1.PlacementDecision) (Snapshot, error) {
	s := Snapshot{Now: r.Clock.Now(), Placement: p, Selected: sets.New[string]()}
	clusters := &clusterv1.ManagedClusterList{}
	if err := r.Client.List(ctx, clusters); err != nil {
		return s, fmt.Errorf("list clusters: %w", err)
	}
	clusterSets := &clusterv1beta2.ManagedClusterSetList{}
	if err := r.Client.List(ctx, clusterSets); err != nil {
		return s, fmt.Errorf("list cluster sets: %w", err)
	}
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.Client.List(ctx, bindings, client.InNamespace(p.Namespace)); err != nil {
		return s, fmt.Errorf("list cluster set bindings: %w", err)
	}
	s.Clusters, s.Sets, s.Bindings = pointers(clusters.Items), pointers(clusterSets.Items), pointers(bindings.Items)
	for _, decision := range existing {
		for _, d := range decision.Status.Decisions {
			s.Selected.Insert(d.ClusterName)
		}
	}
	return s, nil
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
