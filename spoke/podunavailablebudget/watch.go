// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

const (
	// withOthers is how long a budget waits for more pods to go whose entries are in the books.
	withOthers = 5 * time.Second
	// conflictRetry is how soon books are settled again that others wrote all the time.
	conflictRetry = time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podHandler wakes the budget of a pod.
type podHandler struct {
	find  *finder
	books *ledger.Ledger
}

// Create wakes for each pod: it may need a stamp.
func (h *podHandler) Create(ctx context.Context, e event.CreateEvent, q queue) {
	h.wake(ctx, e.Object, q)
}

// Delete wakes for a pod that is gone without a sign; one that was going woke before.
func (h *podHandler) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	if e.Object.GetDeletionTimestamp() == nil || e.DeleteStateUnknown {
		h.wake(ctx, e.Object, q)
	}
}

// Generic does not happen.
func (h *podHandler) Generic(context.Context, event.GenericEvent, queue) {}

// Update wakes for what can change the books, or a stamp.
func (h *podHandler) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	old, okOld := e.ObjectOld.(*corev1.Pod)
	pod, okNew := e.ObjectNew.(*corev1.Pod)
	if !okOld || !okNew || old.DeletionTimestamp != nil && old.UID == pod.UID {
		return
	}
	switch {
	case pod.DeletionTimestamp != nil:
		h.going(ctx, pod, q)
	case old.UID != pod.UID, budget.NameOf(old) != budget.NameOf(pod), old.Status.Phase != pod.Status.Phase,
		budget.IsAvailable(old) != budget.IsAvailable(pod),
		!maps.Equal(old.Labels, pod.Labels) && h.moves(ctx, old, pod):
		h.wake(ctx, pod, q)
	}
}

// moves says whether other labels can make the pod another budget's: it is stamped with none, or comes to be or is no
// longer what its budget selects.
func (h *podHandler) moves(ctx context.Context, old, pod *corev1.Pod) bool {
	if budget.NameOf(pod) == "" {
		return true
	}
	_, b := h.name(ctx, pod)
	return b != nil && b.Spec.TargetReference == nil && selects(b, old.Labels) != selects(b, pod.Labels)
}

// going wakes for a pod that begins to go: later where its entry is in the books.
func (h *podHandler) going(ctx context.Context, pod *corev1.Pod, q queue) {
	name, b := h.name(ctx, pod)
	switch {
	case name == "":
	case b != nil && budget.IsBooked(h.books.Books(b), pod):
		q.AddAfter(request(pod, name), withOthers)
	default:
		q.Add(request(pod, name))
	}
}

func (h *podHandler) wake(ctx context.Context, obj client.Object, q queue) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	if name, _ := h.name(ctx, pod); name != "" {
		q.Add(request(pod, name))
	}
}

// name is that of the pod's budget: the one it is stamped with if that is there, else the one it should be.
func (h *podHandler) name(ctx context.Context, pod *corev1.Pod) (string, *budget.Budget) {
	if name := budget.NameOf(pod); name != "" {
		b := &budget.Budget{}
		err := h.find.seen.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, b, client.UnsafeDisableDeepCopy)
		if err == nil {
			return name, b
		}
	}
	name, err := h.find.ofPod(ctx, pod)
	if err != nil {
		log.FromContext(ctx).Error(err, "looking for the budget of a pod", "namespace", pod.Namespace, "pod", pod.Name)
	}
	return name, nil
}

func request(obj client.Object, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}
}

// ofWorkload wakes the budgets that count by a workload, when it comes, goes, or wants another number of pods.
func (r *Reconciler) ofWorkload(scheme *runtime.Scheme) handler.EventHandler {
	wake := func(ctx context.Context, obj client.Object, q queue) {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return
		}
		for _, name := range r.find.ofWorkload(ctx, obj, gvk) {
			q.Add(request(obj, name))
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, _ := workload.Wanted(e.ObjectOld)
			after, _ := workload.Wanted(e.ObjectNew)
			if before != after || (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) {
				wake(ctx, e.ObjectNew, q)
			}
		},
	}
}
