// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"maps"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

const (
	// minPause and maxPause bound the pause between tries after an error.
	minPause, maxPause = 500 * time.Millisecond, 55 * time.Second
	// writeEvery is the least time between two writes of the status.
	writeEvery = time.Second
	// refreshAfter is the age at which the times of probes are brought up to date, and refreshSpread by how much
	// later that is on some nodes.
	refreshAfter, refreshSpread = 600 * time.Second, 60 * time.Second
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodepodprobes,verbs=list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodepodprobes/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the workers those that the NodePodProbe of one node asks for, and its status what they found.
type Reconciler struct {
	// Client's cache holds the pods of the node and its NodePodProbe, and no others.
	Client  client.Client
	Runtime *cri.Connector
	Events  events.Publisher
	// Node is the name of the node.
	Node string
	Now  func() time.Time
	// Limit is how many probes run at once.
	Limit int

	// process is the context in which workers run.
	process context.Context
	pool    *pool
	// wrote is when the status was last written.
	wrote time.Time
	// patience is after what time this node's status is brought up to date.
	patience time.Duration
	refused  map[Refusal]int
}

// SetupWithManager registers the controller. Workers end with ctx.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	run := handlers{runtime: func() (Runtime, error) { return r.Runtime.Current() }}.run
	r.process, r.pool = log.IntoContext(ctx, mgr.GetLogger().WithName("probes")), newPool(run, r.Now, r.Limit)
	r.patience = patienceOf(r.Node)
	return ctrl.NewControllerManagedBy(mgr).
		Named("probes").
		Watches(&v1alpha1.NodePodProbe{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(asked())).
		Watches(&corev1.Pod{}, r.toNode(), builder.WithPredicates(seenAnew())).
		WatchesRawSource(r.results()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			CacheSyncTimeout:        math.MaxInt64, // a cluster without the kind costs the probes, not the agent
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minPause, maxPause),
		}).
		Complete(r)
}

// Reconcile looks at all probes of the node.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var npp v1alpha1.NodePodProbe
	if err := r.Client.Get(ctx, req.NamespacedName, &npp); err != nil {
		if apierrors.IsNotFound(err) {
			r.pool.sync(r.process, nil, nil)
			r.tellRefused(ctx, nil)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pods, err := r.pods(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	targets, refused := targetsOf(&npp.Spec, pods)
	r.tellRefused(ctx, refused)
	stored := storedStates(&npp)
	r.pool.sync(r.process, targets, stored)
	plan := planStatus(&npp, stored, r.pool.found())
	return r.write(ctx, &npp, &plan, pods)
}

// write writes the status when it must be, and not too often.
func (r *Reconciler) write(ctx context.Context, npp *v1alpha1.NodePodProbe, plan *statusPlan, pods map[types.NamespacedName]*corev1.Pod) (reconcile.Result, error) {
	if !plan.changed && plan.stale < r.patience {
		return reconcile.Result{RequeueAfter: r.patience - plan.stale}, nil
	}
	if left := r.wrote.Add(writeEvery).Sub(r.Now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	if err := writeStatus(ctx, r.Client, npp, plan.statuses); err != nil {
		return reconcile.Result{}, err
	}
	r.wrote = r.Now()
	r.tell(plan.transitions, pods)
	return reconcile.Result{RequeueAfter: r.patience}, nil
}

// pods are those of the node, not to be changed.
func (r *Reconciler) pods(ctx context.Context) (map[types.NamespacedName]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	pods := make(map[types.NamespacedName]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Spec.NodeName == r.Node {
			pods[client.ObjectKeyFromObject(pod)] = pod
		}
	}
	return pods, nil
}

func (r *Reconciler) tellRefused(ctx context.Context, refused map[Refusal]int) {
	if maps.Equal(r.refused, refused) {
		return
	}
	r.refused = refused
	refusedGauge.Reset()
	for why, n := range refused {
		refusedGauge.WithLabelValues(string(why)).Set(float64(n))
	}
	log.FromContext(ctx).Info("Probes are not run", "refused", refused)
}
