// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

const (
	workers        = 10
	controllerName = "ephemeraljob-controller"
)

// +kubebuilder:rbac:groups=apps.kruise.io,resources=ephemeraljobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=apps.kruise.io,resources=ephemeraljobs/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/ephemeralcontainers,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler works on EphemeralJobs.
type Reconciler struct {
	client client.Client
	events events.Publisher
	clock  clock.PassiveClock
	// refused has the Refusals of jobs.
	refused *lru.Cache
}

// Add adds the controller to the manager.
func Add(mgr manager.Manager) error {
	return add(mgr, controller.Options{MaxConcurrentReconciles: workers})
}

func add(mgr manager.Manager, opts controller.Options) error {
	r := &Reconciler{client: mgr.GetClient(), events: events.New(mgr.GetEventRecorder(controllerName)), clock: clock.RealClock{}, refused: lru.New(remembered)}
	return builder.ControllerManagedBy(mgr).Named(controllerName).
		For(&v1alpha1.EphemeralJob{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.jobsOf), builder.WithPredicates(podChanges)).
		WithOptions(opts).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile brings one job forward.
func (r *Reconciler) Reconcile(ctx context.Context, stored *v1alpha1.EphemeralJob) (reconcile.Result, error) {
	if stored.DeletionTimestamp != nil {
		return reconcile.Result{}, r.release(ctx, stored)
	}
	job := stored.DeepCopy()
	v1alpha1.DefaultEphemeralJob(job)
	selected, err := r.selected(ctx, job)
	if err != nil {
		return reconcile.Result{}, err
	}
	refused := r.refusals(job)
	plan := MakePlan(job, selected, refused, r.clock.Now().Truncate(second))
	if plan.Remove {
		return reconcile.Result{}, r.remove(ctx, job)
	}
	return steps.Run(ctx,
		steps.Step{Name: "containers", Do: func(ctx context.Context) (steps.Outcome, error) {
			again, err := r.put(ctx, job, plan.Fill, refused)
			return steps.Outcome{RequeueAfter: again}, err
		}},
		steps.Step{Name: "status", Do: func(ctx context.Context) (steps.Outcome, error) {
			return steps.Outcome{RequeueAfter: plan.Again}, r.writeStatus(ctx, job, &plan.Status)
		}},
	)
}

// selected lists the pods of the job's namespace that its selector selects. The pods are the cache's own.
func (r *Reconciler) selected(ctx context.Context, job *v1alpha1.EphemeralJob) ([]*corev1.Pod, error) {
	if job.Status.CompletionTime != nil {
		return nil, nil // nothing depends on them any more
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("spec.selector: %w", err))
	}
	var list corev1.PodList
	if err := r.client.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	out := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}
