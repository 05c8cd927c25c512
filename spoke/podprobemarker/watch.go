// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobemarker

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// takeIn is how long changes of pods are taken in before they are counted.
const takeIn = time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podChanged lets through what moves a pod into the count or out.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Pod)
		after, okAfter := e.ObjectNew.(*corev1.Pod)
		return !okBefore || !okAfter || before.UID != after.UID ||
			podprobe.Probed(before) != podprobe.Probed(after) || !maps.Equal(before.Labels, after.Labels)
	}}
}

// selecting wakes the markers that select a pod, or did.
func (r *Reconciler) selecting() handler.EventHandler {
	wake := func(ctx context.Context, q queue, objects ...client.Object) {
		markers, err := podprobe.MarkersOf(ctx, r.client, objects[0].GetNamespace())
		if err != nil {
			log.FromContext(ctx).Error(err, "List the markers of a pod", "pod", client.ObjectKeyFromObject(objects[0]))
		}
		for _, m := range markers {
			for _, obj := range objects {
				if m.Selects(obj.GetLabels()) {
					q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)}, takeIn)
					break
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, q, e.ObjectNew, e.ObjectOld) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
	}
}

// cleanedUp wakes the markers whose probes went out of a NodePodProbe: one of them may wait for that.
func cleanedUp() handler.EventHandler {
	wake := func(q queue, before, after client.Object) {
		old, ok := before.(*v1alpha1.NodePodProbe)
		if !ok {
			return
		}
		gone := podprobe.MarkersIn(old)
		if now, ok := after.(*v1alpha1.NodePodProbe); ok {
			for key := range podprobe.MarkersIn(now) {
				delete(gone, key)
			}
		}
		for key := range gone {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				wake(q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, e.Object, nil) },
	}
}
