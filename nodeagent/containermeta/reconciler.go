// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

const (
	// settleDelay lets the changes of a starting pod come together before they are reported.
	settleDelay = time.Second
	// Pause between tries after an error.
	minPause, maxPause = 500 * time.Millisecond, 55 * time.Second
	// passTimeout bounds one pass, the wait for the agent's own last write to come back included.
	passTimeout = 30 * time.Second
	// Bounds of the pause before an environment that could not be read is read again.
	minEnvPause, maxEnvPause = 3 * time.Second, 2 * time.Minute
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the reports of the pods that its client's cache holds.
type Reconciler struct {
	Client  client.Client
	Runtime *cri.Connector
	Events  events.Publisher
	Rules   Rules
	Now     func() time.Time
	// Workers is how many pods are worked on at once.
	Workers int
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("containermeta").
		Watches(&corev1.Pod{}, delayed(settleDelay), builder.WithPredicates(r.due())).
		WatchesRawSource(runtimeUps(r.Runtime, r.Client, r.isDue)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.Workers,
			ReconciliationTimeout:   passTimeout,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minPause, maxPause),
		}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// Reconcile brings the report of one pod up to date.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	plan := MakePlan(pod, r.Rules)
	if plan.Reason != Due {
		return reconcile.Result{}, nil
	}
	runtime, err := r.Runtime.Current()
	if err != nil {
		log.FromContext(ctx).V(1).Info("Report waits for the container runtime", "reason", err.Error())
		return reconcile.Result{}, nil // every pod is looked at again when the runtime is up
	}
	got := gather(ctx, runtime, pod, plan.Questions)
	if set, changed := plan.Report(got.answers); changed {
		if err := write(ctx, r.Client, pod, set); err != nil {
			got.failed = append(got.failed, err)
		}
	}
	if len(got.failed) > 0 {
		return reconcile.Result{}, errors.Join(got.failed...)
	}
	if len(got.unread) > 0 {
		return reconcile.Result{RequeueAfter: r.tellUnread(ctx, pod, errors.Join(got.unread...))}, nil
	}
	return reconcile.Result{}, nil
}
