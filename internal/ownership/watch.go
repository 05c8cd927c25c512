// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// EnqueueController wakes the controlling owner of that kind, whatever its version, when an object of it changes:
// the one before and the one after. delay says how long the owner should rest before its next pass; the events of that
// time cost it one.
func EnqueueController(gk schema.GroupKind, delay func(owner types.UID) time.Duration) handler.EventHandler {
	wake := func(q queue, obj client.Object, not types.UID) types.UID {
		if obj == nil {
			return ""
		}
		ref := ControllerOf(obj, gk)
		if ref == nil || ref.UID == not {
			return ""
		}
		q.AddAfter(requestFor(obj, ref), delay(ref.UID))
		return ref.UID
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, e.Object, "") },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(q, e.Object, "") },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			wake(q, e.ObjectOld, wake(q, e.ObjectNew, ""))
		},
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { wake(q, e.Object, "") },
	}
}

func requestFor(obj client.Object, ref *metav1.OwnerReference) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}}
}
