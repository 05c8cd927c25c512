// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// due lets those events through whose pod has something to report.
func (r *Reconciler) due() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && MakePlan(pod, r.Rules).Reason == Due
	})
}

// delayed puts the pod of an event in the queue after a delay, in which further events of it are absorbed.
func delayed(delay time.Duration) handler.EventHandler {
	add := func(q workqueue.TypedRateLimitingInterface[reconcile.Request], obj client.Object) {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}, delay)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(q, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(q, e.ObjectNew)
		},
	}
}

// runtimeUps puts all pods that have something to report in the queue whenever the runtime comes up.
func (r *Reconciler) runtimeUps() source.Source {
	statuses := r.Runtime.Subscribe()
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case s := <-statuses:
					if s.State == cri.Up {
						r.addDue(ctx, q)
					}
				}
			}
		}()
		return nil
	})
}

func (r *Reconciler) addDue(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods); err != nil {
		log.FromContext(ctx).Error(err, "List the pods of this node")
		return
	}
	for i := range pods.Items {
		if MakePlan(&pods.Items[i], r.Rules).Reason == Due {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods.Items[i])})
		}
	}
}
