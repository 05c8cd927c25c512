// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podreadiness

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// fieldOwner of the conditions written here.
const fieldOwner = "spoke-podreadiness"

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// Reconciler opens the gates of new pods.
type Reconciler struct {
	client client.Client
	clock  clock.PassiveClock
}

// Add adds the controller to the manager.
func Add(mgr manager.Manager) error {
	needed := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && len(closed(pod)) > 0
	})
	r := &Reconciler{client: mgr.GetClient(), clock: clock.RealClock{}}
	return builder.ControllerManagedBy(mgr).Named("podreadiness").
		For(&corev1.Pod{}, builder.WithPredicates(needed)).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile opens the gates of one pod. A pod that changed in the meantime comes back by its event.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	gates := closed(pod)
	if len(gates) == 0 {
		return reconcile.Result{}, nil
	}
	patch, err := open(pod, gates, metav1.NewTime(r.clock.Now()))
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	err = r.client.Status().Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner(fieldOwner))
	if apierrors.IsConflict(err) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}
