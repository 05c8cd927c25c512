// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/internal/events"
)

const (
	workers = 4
	// remembered bounds the pods whose last step is known; one that is forgotten costs a write that changes nothing.
	remembered = 4096
	// again is how soon a step is done once more that should have been enough: somebody may have undone it. Until then
	// events do not count, so it is also when the pod is looked at without one.
	again = time.Minute
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler lets the containers of pods go. Barriers are written and what is in them is never read.
type Reconciler struct {
	client client.Client
	events events.Publisher
	clock  clock.PassiveClock
	// done has the last step of pods by uid.
	done *lru.Cache
}

// step is one that was done.
type step struct {
	reason Reason
	level  int
	at     time.Time
}

// Add adds the controller to the manager.
func Add(mgr manager.Manager) error {
	return add(mgr, controller.Options{MaxConcurrentReconciles: workers})
}

func add(mgr manager.Manager, opts controller.Options) error {
	r := &Reconciler{
		client: mgr.GetClient(), events: events.New(mgr.GetEventRecorder("flotilla-spoke")),
		clock: clock.RealClock{}, done: lru.New(remembered),
	}
	return builder.ControllerManagedBy(mgr).Named("container-launch-priority-controller").
		For(&corev1.Pod{}, builder.WithPredicates(r.needed())).
		WithOptions(opts).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// needed lets through pods that something is to be done for. A pod's end counts when it is seen to come: most pods that
// ended before the controller started have no barrier any more, and the barrier of one that has goes with the pod.
func (r *Reconciler) needed() predicate.Predicate {
	due := func(obj client.Object) (Step, bool) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return Step{}, false
		}
		next := Next(pod)
		return next, r.due(pod, next)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			next, ok := due(e.Object)
			return ok && next.Reason != Ended
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			next, ok := due(e.ObjectNew)
			before, known := e.ObjectOld.(*corev1.Pod)
			return ok && (next.Reason != Ended || known && Next(before).Reason != Ended)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// last is the last step of a pod that was done, its zero value when none is known.
func (r *Reconciler) last(pod types.UID) step {
	known, _ := r.done.Get(pod)
	last, _ := known.(step)
	return last
}

// is tells whether a step was this one.
func (s step) is(next Step) bool { return s.reason == next.Reason && s.level == next.Level }

// due tells whether a step is to be done: when it was not done, or a container waits in vain for what it let go.
func (r *Reconciler) due(pod *corev1.Pod, next Step) bool {
	if next.idle() {
		return false
	}
	last := r.last(pod.UID)
	return !last.is(next) || r.clock.Since(last.at) >= again && next.Reason != Ended && lacks(pod, next)
}

// Reconcile does the next step of one pod.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	next := Next(pod)
	if !r.due(pod, next) {
		return reconcile.Result{}, nil
	}
	if err := r.do(ctx, pod, next); errors.Is(err, errTaken) {
		r.events.Publish(takenEvent(pod))
		return reconcile.Result{RequeueAfter: again}, nil
	} else if err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return reconcile.Result{}, nil // the pod is gone, is another by now, or goes with its namespace
		}
		return reconcile.Result{}, err
	}
	if next.Reason != Ended && next.Reason != Missing && !r.last(pod.UID).is(next) {
		r.events.Publish(eventOf(pod, next))
	}
	r.done.Add(pod.UID, step{reason: next.Reason, level: next.Level, at: r.clock.Now()})
	if next.Reason == Ended {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

func (r *Reconciler) do(ctx context.Context, pod *corev1.Pod, next Step) error {
	if next.Reason == Ended {
		return r.removeBarrier(ctx, pod)
	}
	return r.release(ctx, pod, next)
}
