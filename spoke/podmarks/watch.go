// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podmarks

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// restoreAfter is how long after a change of its metadata a pod is looked at: whoever fights for a mark does so once a
// second at most.
const restoreAfter = time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// resultsChanged wakes the pods whose results changed, but for times.
func resultsChanged() handler.EventHandler {
	wake := func(q queue, before, after client.Object) {
		old, _ := before.(*v1alpha1.NodePodProbe)
		now, ok := after.(*v1alpha1.NodePodProbe)
		if !ok {
			return
		}
		for _, pod := range changedPods(old, now) {
			q.Add(reconcile.Request{NamespacedName: pod})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, nil, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { wake(q, e.ObjectOld, e.ObjectNew) },
	}
}

// changedPods are the pods of which now has results that differ from those of old, which may be nil.
func changedPods(old, now *v1alpha1.NodePodProbe) []types.NamespacedName {
	before := map[string][]v1alpha1.ContainerProbeState{}
	if old != nil {
		for i := range old.Status.PodProbeStatuses {
			before[old.Status.PodProbeStatuses[i].UID] = old.Status.PodProbeStatuses[i].ProbeStates
		}
	}
	var out []types.NamespacedName
	for i := range now.Status.PodProbeStatuses {
		s := &now.Status.PodProbeStatuses[i]
		if !slices.EqualFunc(before[s.UID], s.ProbeStates, same) {
			out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return out
}

func same(a, b v1alpha1.ContainerProbeState) bool {
	return a.Name == b.Name && a.State == b.State && a.Message == b.Message
}

// podChanged lets through changes of what is marked.
func podChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true }, // at the start of this process
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(*corev1.Pod)
			after, okAfter := e.ObjectNew.(*corev1.Pod)
			return !okBefore || !okAfter || !maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
				!slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, alike)
		},
	}
}

func alike(a, b corev1.PodCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Message == b.Message
}

// later wakes a pod in whose namespace there are markers.
func (r *Reconciler) later() handler.EventHandler {
	wake := func(ctx context.Context, q queue, obj client.Object) {
		var list v1alpha1.PodProbeMarkerList
		err := r.client.List(ctx, &list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy)
		if err != nil || len(list.Items) > 0 {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}, restoreAfter)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, q, e.ObjectNew) },
	}
}

// selected are the pods of a marker.
func (r *Reconciler) selected(ctx context.Context, obj client.Object) []reconcile.Request {
	marker, ok := obj.(*v1alpha1.PodProbeMarker)
	if !ok {
		return nil
	}
	list, err := podprobe.PodsOf(ctx, r.client, podprobe.MarkerOf(marker))
	if err != nil {
		log.FromContext(ctx).Error(err, "List the pods of a marker", "marker", client.ObjectKeyFromObject(marker))
	}
	out := make([]reconcile.Request, 0, len(list))
	for i := range list {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list[i])})
	}
	return out
}
