// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// applyDecisions creates, changes and deletes PlacementDecisions until they are as wanted.
func (r *Reconciler) applyDecisions(
	ctx context.Context, p *clusterv1beta1.Placement, wanted []decision, existing []clusterv1beta1.PlacementDecision,
) error {
	left := map[string]*clusterv1beta1.PlacementDecision{}
	for i := range existing {
		left[existing[i].Name] = &existing[i]
	}
	for _, want := range wanted {
		have, found := left[want.name]
		delete(left, want.name)
		if !found {
			have = &clusterv1beta1.PlacementDecision{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: want.name, Labels: want.labels},
			}
			if err := controllerutil.SetControllerReference(p, have, r.Client.Scheme()); err != nil {
				return fmt.Errorf("own decision %s: %w", want.name, err)
			}
			if err := r.Client.Create(ctx, have); err != nil {
				return fmt.Errorf("create decision %s: %w", want.name, err)
			}
		}
		if err := r.updateDecision(ctx, have, want); err != nil {
			return fmt.Errorf("update decision %s: %w", want.name, err)
		}
	}
	for name, extra := range left {
		if err := r.Client.Delete(ctx, extra); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete decision %s: %w", name, err)
		}
	}
	return nil
}

func (r *Reconciler) updateDecision(ctx context.Context, have *clusterv1beta1.PlacementDecision, want decision) error {
	before := have.DeepCopy()
	if have.Labels == nil {
		have.Labels = map[string]string{}
	}
	maps.Copy(have.Labels, want.labels)
	if !maps.Equal(before.Labels, have.Labels) {
		if err := r.Client.Patch(ctx, have, client.MergeFrom(before)); err != nil {
			return err
		}
		before = have.DeepCopy()
	}
	if before.Status.Decisions != nil && equality.Semantic.DeepEqual(before.Status.Decisions, want.decisions) {
		return nil
	}
	have.Status.Decisions = want.decisions
	return r.Client.Status().Patch(ctx, have, client.MergeFrom(before))
}

func (r *Reconciler) applyStatus(ctx context.Context, p *clusterv1beta1.Placement, status clusterv1beta1.PlacementStatus) error {
	if equality.Semantic.DeepEqual(p.Status, status) {
		return nil
	}
	before := p.DeepCopy()
	p.Status = status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, p, patch); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}
