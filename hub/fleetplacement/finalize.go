// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// finalize takes the shares of a placement back, and lets go of target and placement when the last one
// has gone.
func (r *Reconciler) finalize(ctx context.Context, s *snapshot) (reconcile.Result, error) {
	remaining := all(s)
	again, err := r.takeBack(ctx, s, remaining)
	if err != nil {
		return reconcile.Result{}, err
	}
	d := decision{remove: remaining}
	d.divider, d.dividerName, _ = r.dividerOf(s)
	d.cannot(fleetv1alpha1.ReasonDeleting, "the placement is being deleted")
	if len(remaining) > 0 {
		result, err := r.report(ctx, s, d, outcome{})
		result.RequeueAfter = steps.Sooner(result.RequeueAfter, again)
		return result, err
	}
	if err := r.letGo(ctx, s, d.divider); err != nil {
		return reconcile.Result{}, err
	}
	r.pace.forget(s.placement.UID)
	r.dropped.forget(s.placement.UID)
	r.stuck.forget(s.placement.UID)
	return reconcile.Result{}, r.setFinalizer(ctx, s.placement, false)
}

// letGo leaves the target as one without a placement, unless another placement has it.
func (r *Reconciler) letGo(ctx context.Context, s *snapshot, divider Divider) error {
	if s.target == nil || divider == nil || s.holder != "" {
		return nil
	}
	patches, err := targetPatches(s.target, divider, share.Nowhere(metav1.NewTime(s.now)))
	if err != nil {
		return err
	}
	if err := r.writeStatus(ctx, patches); err != nil {
		return err
	}
	return r.setFinalizer(ctx, s.target, false)
}
