// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerrecreaterequest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const controllerName = "containerrecreaterequest-controller"

// +kubebuilder:rbac:groups=apps.kruise.io,resources=containerrecreaterequests,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=apps.kruise.io,resources=containerrecreaterequests/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// Reconciler works on ContainerRecreateRequests.
type Reconciler struct {
	client client.Client
	// live reads past the cache.
	live  client.Reader
	clock clock.PassiveClock
}

// Add adds the controller to the manager.
func Add(mgr manager.Manager) error {
	return add(mgr, controller.Options{})
}

func add(mgr manager.Manager, opts controller.Options) error {
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), clock: clock.RealClock{}}
	return builder.ControllerManagedBy(mgr).Named(controllerName).
		For(&Request{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.requestsOf), builder.WithPredicates(podChanges)).
		WithOptions(opts).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile brings one request forward. One that changed in the meantime comes back by its event.
func (r *Reconciler) Reconcile(ctx context.Context, req *Request) (reconcile.Result, error) {
	pod, err := r.podOf(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := MakePlan(req, pod, r.clock.Now())
	err = r.apply(ctx, req, pod, plan)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: pollEvery}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: plan.Again}, nil
}

// podOf reads the pod that a request names, nil when there is none. One that the cache does not have is asked for once
// more before it is taken to be gone.
func (r *Reconciler) podOf(ctx context.Context, req *Request) (*corev1.Pod, error) {
	key := client.ObjectKey{Namespace: req.Namespace, Name: req.Spec.PodName}
	for _, from := range []client.Reader{r.client, r.live} {
		var pod corev1.Pod
		err := from.Get(ctx, key, &pod)
		if err == nil && isOf(req, &pod) {
			return &pod, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if req.Status.Phase == completed && !controllerutil.ContainsFinalizer(req, finalizer) {
			break // its pod matters no more
		}
	}
	return nil, nil
}

// requestsOf are the open requests for a pod.
func (r *Reconciler) requestsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	var list v1beta1.ContainerRecreateRequestList
	err := r.client.List(ctx, &list, client.InNamespace(obj.GetNamespace()),
		client.MatchingLabels{v1beta1.ContainerRecreateRequestPodUIDKey: string(obj.GetUID())}, client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot list the requests for a pod")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if req := &list.Items[i]; req.DeletionTimestamp == nil && req.Status.Phase != completed {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(req)})
		}
	}
	return out
}

// podChanges are the changes of a pod that can matter to a request.
var podChanges = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	old, ok := e.ObjectOld.(*corev1.Pod)
	pod, isPod := e.ObjectNew.(*corev1.Pod)
	return ok && isPod && (old.UID != pod.UID || (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(old.Status.ContainerStatuses, pod.Status.ContainerStatuses))
}}
