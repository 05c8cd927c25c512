// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/ownership"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// together is how long a ResourceDistribution waits for more changes, so that many cost one pass.
const together = 200 * time.Millisecond

func add(q queue, name string) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, together)
}

// ofNamespace wakes those that a namespace is or was a target of, when it comes, goes, begins to go or is labelled anew.
func (r *Reconciler) ofNamespace() handler.EventHandler {
	wake := func(ctx context.Context, q queue, states ...client.Object) {
		list := &v1beta1.ResourceDistributionList{}
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			log.FromContext(ctx).Error(err, "Cannot list ResourceDistributions; they wait for their next change")
			return
		}
		for i := range list.Items {
			if concerns(&list.Items[i], states) {
				add(q, list.Items[i].Name)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, now := factsOf(e.ObjectOld), factsOf(e.ObjectNew)
			if before.going != now.going || !maps.Equal(before.labels, now.labels) {
				wake(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
	}
}

// concerns tells whether a namespace is a target in one of these states.
func concerns(rd *v1beta1.ResourceDistribution, states []client.Object) bool {
	to, err := aimOf(&rd.Spec.Targets)
	if err != nil {
		return false
	}
	for _, namespace := range states {
		if to.takes(namespace.GetName(), namespace.GetLabels()) {
			return true
		}
	}
	return false
}

// ofCopy wakes those whose copy changed or is gone. One that comes was made by them.
func ofCopy() handler.EventHandler {
	wake := func(q queue, obj client.Object) {
		if ref := ownership.ControllerOf(obj, schema.GroupKind{Group: kind.Group, Kind: kind.Kind}); ref != nil {
			add(q, ref.Name)
		}
	}
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			wake(q, e.ObjectOld)
			wake(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, e.Object) },
	}
}
