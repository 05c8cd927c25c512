// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobemarker

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// off lets go of markers that are deleted while nobody works on them.
type off struct{ client client.Client }

// AddOff adds what is left to do where custom probes are off: markers that were made while they were on can be deleted,
// and their namespaces with them. Their probes are asked for no more when custom probes are on again.
func AddOff(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).Named("podprobemarker").
		For(&v1alpha1.PodProbeMarker{}, builder.WithPredicates(predicate.NewPredicateFuncs(held))).
		Complete(reconcile.AsReconciler(mgr.GetClient(), &off{mgr.GetClient()}))
}

// held tells that a marker would go, were it not for our finalizer.
func held(obj client.Object) bool {
	return obj.GetDeletionTimestamp() != nil && controllerutil.ContainsFinalizer(obj, v1alpha1.PodProbeMarkerFinalizer)
}

// Reconcile lets one marker go.
func (r *off) Reconcile(ctx context.Context, marker *v1alpha1.PodProbeMarker) (reconcile.Result, error) {
	if !held(marker) {
		return reconcile.Result{}, nil
	}
	return steps.Run(ctx, steps.Step{Name: "finalizer", Do: func(ctx context.Context) (steps.Outcome, error) {
		return steps.Outcome{}, (&Reconciler{client: r.client}).finalizer(ctx, marker, &plan{release: true})
	}})
}
