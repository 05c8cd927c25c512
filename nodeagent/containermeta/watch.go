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
		return ok && r.isDue(pod)
	})
}

func (r *Reconciler) isDue(pod *corev1.Pod) bool { return MakePlan(pod, r.Rules).Reason == Due }

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

// runtimeUps puts all pods that want it in the queue whenever the runtime comes up.
func runtimeUps(runtime *cri.Connector, pods client.Reader, want func(*corev1.Pod) bool) source.Source {
	statuses := runtime.Subscribe()
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case s := <-statuses:
					if s.State == cri.Up {
						add(ctx, pods, want, q)
					}
				}
			}
		}()
		return nil
	})
}

func add(ctx context.Context, pods client.Reader, want func(*corev1.Pod) bool, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var list corev1.PodList
	if err := pods.List(ctx, &list); err != nil {
		log.FromContext(ctx).Error(err, "List the pods of this node")
		return
	}
	for i := range list.Items {
		if want(&list.Items[i]) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
}
