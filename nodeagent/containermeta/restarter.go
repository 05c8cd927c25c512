// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/stop"
)

const (
	// restartWorkers is how many pods are looked at at once. No worker waits for a container to end.
	restartWorkers = 10
	// restartCheck is when to look again, at the soonest, at a pod of which a container was told to end.
	restartCheck = time.Second
)

// Restarter ends the containers whose environment an in-place update has changed.
type Restarter struct {
	Client client.Client
	// Live reads past the cache, which holds a part of a pod only.
	Live    client.Reader
	Runtime *cri.Connector
	Stopper *stop.Stopper
	Now     func() time.Time

	memory     memory
	background stop.Background
}

// SetupWithManager registers the controller. Stops that are under way are given up with ctx.
func (r *Restarter) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("containermeta-restart").
		Watches(&corev1.Pod{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(r.due())).
		WatchesRawSource(runtimeUps(r.Runtime, r.Client, wantsRestart)).
		WatchesRawSource(r.background.Source(ctx)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: restartWorkers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRestartPause, maxRestartPause),
		}).
		Complete(r)
}

// Reconcile begins to end an instance of one pod that must start anew.
func (r *Restarter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var pod corev1.Pod
	gone := r.Client.Get(ctx, req.NamespacedName, &pod)
	if client.IgnoreNotFound(gone) != nil {
		return reconcile.Result{}, gone
	}
	stage, err := r.background.Look(req.NamespacedName, pod.UID)
	if stage == stop.UnderWay || err != nil { // its end brings the next look
		return reconcile.Result{}, err
	}
	plan := mayRestart(&pod)
	if gone != nil || plan.Reason == NoUpdate {
		r.memory.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if len(plan.Restarts) == 0 {
		return reconcile.Result{}, nil // the next event tells
	}
	left := r.soonest(&pod, plan.Restarts)
	if stage == stop.Over { // the kubelet takes a while to tell that an instance has ended
		left = max(left, restartCheck)
	}
	if left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return r.begin(ctx, &pod)
}

// begin ends an instance of a pod after a last look at it, past the cache.
func (r *Restarter) begin(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	runtime, err := r.Runtime.Current()
	if err != nil {
		log.FromContext(ctx).V(1).Info("Restart waits for the container runtime", "reason", err.Error())
		return reconcile.Result{}, nil // every pod is looked at again when the runtime is up
	}
	key, known := client.ObjectKeyFromObject(pod), pod.UID
	if err := r.Live.Get(ctx, key, pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if pod.UID != known { // the cache does not know this pod yet
		return reconcile.Result{RequeueAfter: restartCheck}, nil
	}
	list := MakeRestartPlan(pod).Restarts
	if left := r.soonest(pod, list); len(list) == 0 || left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	r.background.Begin(key, pod.UID, func(process context.Context) error {
		return r.restart(log.IntoContext(process, log.FromContext(ctx)), runtime, pod)
	})
	return reconcile.Result{}, nil
}

// soonest is how long it is until the first of the restarts may be made, 0 when one may or there is none.
func (r *Restarter) soonest(pod *corev1.Pod, list []Restart) time.Duration {
	soonest := maxRestartPause
	for _, one := range list {
		soonest = min(soonest, r.memory.wait(client.ObjectKeyFromObject(pod), pod.UID, one, r.Now()))
	}
	if len(list) == 0 {
		return 0
	}
	return max(soonest, 0)
}

// restart makes the first of those restarts of a pod that wait no longer. Since that may take hours, the next one is made
// after another look at the pod.
func (r *Restarter) restart(ctx context.Context, runtime stop.Runtime, pod *corev1.Pod) error {
	key := client.ObjectKeyFromObject(pod)
	for _, one := range MakeRestartPlan(pod).Restarts {
		_, id, ok := cri.SplitID(one.ContainerID)
		if !ok || r.memory.wait(key, pod.UID, one, r.Now()) > 0 {
			continue
		}
		outcome, err := r.Stopper.Stop(ctx, runtime, stop.Order{
			Pod: pod, Container: one.Name, ID: id, Grace: stop.GraceOf(pod),
			Note: "Stopping containerID " + one.ContainerID + " by container meta restarter",
		})
		restarts.WithLabelValues(string(outcome)).Inc()
		log.FromContext(ctx).Info("Restart for changed metadata", "container", one.Name, "containerID", one.ContainerID, "outcome", outcome)
		if outcome != stop.NotRunning { // which takes no time
			r.memory.tried(key, one, r.Now())
			return err
		}
	}
	return nil
}

// due lets those events through whose pod has containers to start anew, or is known to have had some.
func (r *Restarter) due() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && (wantsRestart(pod) || r.memory.has(client.ObjectKeyFromObject(pod)))
	})
}

func wantsRestart(pod *corev1.Pod) bool { return mayRestart(pod).Reason == EnvOutdated }
