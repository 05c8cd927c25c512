// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

func (r *Reconciler) request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: r.Node}}
}

// toNode makes of any event the one request there is.
func (r *Reconciler) toNode() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{r.request()}
	})
}

// asked lets changes of the spec through; the status is written here.
func asked() predicate.Predicate { return predicate.GenerationChangedPredicate{} }

// seenAnew lets those changes of pods through by which a view changes.
func seenAnew() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Pod)
		pod, also := e.ObjectNew.(*corev1.Pod)
		if !ok || !also || old.UID != pod.UID {
			return true
		}
		a, b := &old.Status, &pod.Status
		return a.PodIP != b.PodIP || a.Phase != b.Phase ||
			!equality.Semantic.DeepEqual(a.ContainerStatuses, b.ContainerStatuses) ||
			!equality.Semantic.DeepEqual(a.InitContainerStatuses, b.InitContainerStatuses)
	}}
}

// results makes a request whenever a worker found something new.
func (r *Reconciler) results() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-r.pool.changed:
					q.Add(r.request())
				}
			}
		}()
		return nil
	})
}
