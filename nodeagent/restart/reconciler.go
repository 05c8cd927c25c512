// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/stop"
)

const (
	// workers is how many pods are looked at at once. No worker waits for a container to end.
	workers = 32
	// Pause between tries after an error.
	minPause, maxPause = 500 * time.Millisecond, 55 * time.Second
	// awayPause is when to look again at a pod that is not known, or without a runtime.
	awayPause = 2 * time.Second
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=containerrecreaterequests,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=containerrecreaterequests/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler carries out the requests for pods of one node.
type Reconciler struct {
	// Client's cache holds the pods of the node and the open requests that are labelled with it, and no others.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Runtime returns the runtime in use and its name.
	Runtime func() (Runtime, string, error)
	Stopper *stop.Stopper
	// Node is the name of the node.
	Node string
	Now  func() time.Time

	background stop.Background
}

// SetupWithManager registers the controller. Its queue holds pods. Stops that are under way are given up with ctx.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("restart").
		Watches(&Request{}, handler.EnqueueRequestsFromMapFunc(podOf)).
		WatchesRawSource(r.background.Source(ctx)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			CacheSyncTimeout:        math.MaxInt64, // a cluster without the kind costs the restarts, not the agent
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minPause, maxPause),
		}).
		Complete(r)
}

// podOf is the pod that a request names. Every event counts, its end and its deletion too: the next one may begin then.
func podOf(_ context.Context, obj client.Object) []reconcile.Request {
	r, ok := obj.(*Request)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: r.Namespace, Name: r.Spec.PodName}}}
}

// Reconcile takes the requests of one pod a step further.
func (r *Reconciler) Reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	var pod corev1.Pod
	away := r.Client.Get(ctx, key.NamespacedName, &pod)
	if client.IgnoreNotFound(away) != nil {
		return reconcile.Result{}, away
	}
	stage, err := r.background.Look(key.NamespacedName, pod.UID)
	if err != nil {
		return quietly(ctx, reconcile.Result{}, err)
	}
	list, err := r.requests(ctx, key.NamespacedName)
	if err != nil || len(list) == 0 {
		return reconcile.Result{}, err
	}
	if away != nil { // it is gone, not known yet, or on another node: the spoke tells
		return reconcile.Result{RequeueAfter: awayPause}, nil
	}
	return r.turn(ctx, list, &pod, stage == stop.UnderWay)
}

// turn picks the request whose turn it is, tells the others that they wait, and goes on with it; while the pod is busy
// with what was begun before, none is gone on with.
func (r *Reconciler) turn(ctx context.Context, list []Request, pod *corev1.Pod, busy bool) (reconcile.Result, error) {
	picked, waiting := Choose(list, pod.UID)
	if picked == nil && slices.ContainsFunc(list, func(r Request) bool { return isOpen(&r) }) { // it is for a pod of that name that is not known yet, or gone
		return reconcile.Result{RequeueAfter: awayPause}, nil
	}
	if picked == nil || !concerns(picked, pod) {
		return reconcile.Result{}, nil
	}
	if busy && picked.Status.Phase == "" {
		waiting = append(waiting, picked)
	}
	for _, w := range waiting {
		if err := r.patch(ctx, w, map[string]any{"phase": pending}, true); err != nil {
			return quietly(ctx, reconcile.Result{}, err)
		}
	}
	if busy {
		return reconcile.Result{}, nil // the end of the stop brings the next look
	}
	result, err := r.work(ctx, picked, pod)
	return quietly(ctx, result, err)
}

// work takes one request a step further.
func (r *Reconciler) work(ctx context.Context, req *Request, pod *corev1.Pod) (reconcile.Result, error) {
	if req.Status.Phase != recreating {
		return reconcile.Result{}, r.patch(ctx, req, map[string]any{"phase": recreating}, true)
	}
	left, began := graceLeft(req, r.Now())
	if !began || left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	runtime, name, err := r.Runtime()
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := unsupported(req, name); err != nil {
		return reconcile.Result{}, r.complete(ctx, req, err.Error())
	}
	facts, err := gather(ctx, runtime, name, req, pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	facts.Now = r.Now()
	plan := MakePlan(req, facts)
	return reconcile.Result{RequeueAfter: plan.Again}, r.apply(ctx, runtime, req, plan)
}

// apply carries a plan out.
func (r *Reconciler) apply(ctx context.Context, runtime Runtime, req *Request, plan Plan) error {
	if plan.Changed {
		if err := r.patch(ctx, req, map[string]any{"containerRecreateStates": plan.States}, true); err != nil {
			return err
		}
		req.Status.ContainerRecreateStates = plan.States
	}
	switch {
	case plan.Stop != nil:
		return r.stop(ctx, runtime, req, plan)
	case plan.Complete:
		return r.complete(ctx, req, "")
	default:
		return nil
	}
}

// requests lists the open requests of this node for a pod of that name. They are copies.
func (r *Reconciler) requests(ctx context.Context, pod types.NamespacedName) ([]Request, error) {
	var all v1beta1.ContainerRecreateRequestList
	if err := r.Client.List(ctx, &all, client.InNamespace(pod.Namespace)); err != nil {
		return nil, err
	}
	var out []Request
	for i := range all.Items {
		if all.Items[i].Spec.PodName == pod.Name {
			out = append(out, all.Items[i])
		}
	}
	return out, nil
}

// concerns tells that a request is for this very pod, and that the pod is to stay.
func concerns(req *Request, pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && req.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] == string(pod.UID) && pod.UID != ""
}

// quietly takes changes that came in between for what they are, and waits for a runtime that was lost.
func quietly(ctx context.Context, result reconcile.Result, err error) (reconcile.Result, error) {
	switch {
	case err == nil:
		return result, nil
	case errors.Is(err, errChanged):
		return reconcile.Result{RequeueAfter: awayPause}, nil
	case errors.Is(err, cri.ErrUnavailable):
		log.FromContext(ctx).V(1).Info("Restart waits for the container runtime", "reason", err.Error())
		return reconcile.Result{RequeueAfter: awayPause}, nil
	default:
		return reconcile.Result{}, err
	}
}

// Over is the runtime of a connector, for Reconciler.Runtime.
func Over(connector *cri.Connector) func() (Runtime, string, error) {
	return func() (Runtime, string, error) {
		c, err := connector.Current()
		if err != nil {
			return nil, "", err
		}
		return c, c.Runtime().Name, nil
	}
}
