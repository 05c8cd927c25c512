// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const (
	fieldOwner = client.FieldOwner("nodeagent-images")
	// settle is how long the status waits after pullers were started: an image that is there costs one write so.
	settle = 200 * time.Millisecond
	// Pause between tries after an error.
	minPause, maxPause = 500 * time.Millisecond, 55 * time.Second
	// lookAgain is after how long everything is compared anew though nothing happened; up to an hour is added.
	lookAgain = 12 * time.Hour
	// patient: a kind that is not installed yet is waited for.
	patient = 10 * 365 * 24 * time.Hour
)

// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodeimages,verbs=list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodeimages/status,verbs=patch
// +kubebuilder:rbac:groups="",namespace=kruise-daemon-config,roleName=flotilla-nodeagent-pull-secrets,resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler does what the NodeImage of this node asks for.
type Reconciler struct {
	Client client.Client
	Puller *Puller

	process context.Context //nolint:containedctx // pullers outlive a pass
	budget  budget
	// settled is when pullers that were started may be spoken of.
	settled time.Time
}

// SetupWithManager registers the controller. The client's cache must hold this node's NodeImage alone. Pullers end
// with ctx.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.process = ctx
	changed := make(chan event.GenericEvent, 1)
	r.Puller.Changed = func() {
		select {
		case changed <- event.GenericEvent{Object: &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: r.Puller.Node}}}:
		default: // one that was not read yet says the same
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("images").
		For(&v1beta1.NodeImage{}).
		WatchesRawSource(source.Channel(changed, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			CacheSyncTimeout:        patient,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minPause, maxPause),
		}).
		Complete(r)
}

// Reconcile starts and stops pullers and writes how far they are.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req.Name != r.Puller.Node {
		return reconcile.Result{}, nil
	}
	var obj v1beta1.NodeImage
	if err := r.Client.Get(ctx, req.NamespacedName, &obj); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	} // one that is gone asks for nothing
	plan := MakePlan(&obj, r.Puller.Work())
	r.Puller.Carry(r.process, plan)
	if obj.Name == "" {
		return reconcile.Result{}, nil
	}
	now := r.Puller.Now()
	if len(plan.Start) > 0 {
		r.settled = now.Add(settle)
	}
	if wait := r.settled.Sub(now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return r.write(ctx, &obj, StatusOf(&obj, r.Puller.Work()))
}

// write patches the status where it differs, when a write may be made.
func (r *Reconciler) write(ctx context.Context, obj *v1beta1.NodeImage, status v1beta1.NodeImageStatus) (reconcile.Result, error) {
	rest := reconcile.Result{RequeueAfter: lookAgain + rand.N(time.Hour)} //nolint:gosec // spreads load
	if equality.Semantic.DeepEqual(obj.Status, status) {
		return rest, nil
	}
	take := r.budget.take
	if step, alone := progress(obj.Status, status); alone && step < progressStep {
		return rest, nil // pullers tell when they are further
	} else if alone {
		take = r.budget.takeProgress
	}
	if wait := take(r.Puller.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	changed := obj.DeepCopy()
	changed.Status = status
	err := r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), fieldOwner)
	switch {
	case err == nil:
		statusWrites.WithLabelValues("written").Inc()
		return rest, nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		statusWrites.WithLabelValues("conflict").Inc()
		return reconcile.Result{RequeueAfter: settle}, nil
	default:
		statusWrites.WithLabelValues("failed").Inc()
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	}
}
