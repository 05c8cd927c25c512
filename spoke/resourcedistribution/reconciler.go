// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/latecache"
)

const (
	controllerName = "resourcedistribution-controller"
	// lookAgain is after how long objects that are not ours are looked at again.
	lookAgain = 30 * time.Second
	// askAgain is after how long missing rights are looked for again.
	askAgain = 5 * time.Second
)

// +kubebuilder:rbac:groups=apps.kruise.io,resources=resourcedistributions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=resourcedistributions/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=resourcedistributions/status,verbs=patch

// Reconciler keeps the copies of ResourceDistributions. What it needs beside the rights above is in
// kustomize/distribution, for those who switch the gate on.
type Reconciler struct {
	client client.Client
	live   client.Reader
	cache  *latecache.Cache
	events events.Publisher
	clock  clock.PassiveClock

	mu sync.Mutex
	// seen has those, by name, whose unmarked copies were looked for.
	seen map[string]view
}

// Add adds the controller to the manager.
func Add(ctx context.Context, mgr manager.Manager) error {
	c, err := newCache(ctx, mgr)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), cache: c, events: events.New(mgr.GetEventRecorder(controllerName)),
		clock: clock.RealClock{}, seen: map[string]view{},
	}
	b := builder.ControllerManagedBy(mgr).Named(controllerName).
		For(&v1beta1.ResourceDistribution{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(c.Source(namespaceKind(), r.ofNamespace()))
	for _, obj := range copied {
		b = b.WatchesRawSource(c.Source(obj, ofCopy()))
	}
	return b.Complete(r)
}

// Reconcile brings the copies of one ResourceDistribution up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	rd := &v1beta1.ResourceDistribution{}
	if err := r.client.Get(ctx, req.NamespacedName, rd); err != nil {
		r.forget(req.Name)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if rd.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // its copies are collected with it
	}
	t, err := templateOf(rd)
	if err != nil { // admission lets none pass; it changes with the spec alone
		return reconcile.Result{}, r.report(ctx, rd, nil, []failure{unread(err)})
	}
	s, err := r.gather(ctx, rd, t)
	if err != nil {
		failures := make([]failure, 0, len(s.targets))
		for _, name := range s.targets {
			failures = append(failures, failure{name, unread(err).problem})
		}
		if len(failures) == 0 {
			failures = append(failures, unread(err))
		}
		err = errors.Join(err, r.report(ctx, rd, s.targets, failures))
		if errors.Is(err, errUnreadable) {
			log.FromContext(ctx).V(1).Info("Cannot distribute", "reason", err.Error())
			return reconcile.Result{RequeueAfter: askAgain}, nil
		}
		return reconcile.Result{}, err
	}
	plan := makePlan(s)
	log.FromContext(ctx).V(1).Info("Planned", "targets", len(s.targets), "steps", plan)
	failures := (&writer{r, rd, t}).carryOut(ctx, plan)
	if !slices.ContainsFunc(failures, func(f failure) bool { return f.retried() }) {
		r.setLooked(rd) // what failed may have been found by looking alone
	}
	err = r.report(ctx, rd, s.targets, failures)
	return after(failures, err)
}

// after says when to look again.
func after(failures []failure, err error) (reconcile.Result, error) {
	result := reconcile.Result{}
	errs := []error{err}
	for _, f := range failures {
		if f.retried() {
			errs = append(errs, f.problem)
		} else if f.cause == v1beta1.ResourceDistributionConflictOccurred {
			result.RequeueAfter = lookAgain
		}
	}
	if err := errors.Join(errs...); err != nil {
		return reconcile.Result{}, err
	}
	return result, nil
}

func unread(err error) failure {
	return failure{problem: &problem{v1beta1.ResourceDistributionGetResourceFailed, err}}
}

// report writes the status where it changed, and tells what came up.
func (r *Reconciler) report(ctx context.Context, rd *v1beta1.ResourceDistribution, targets []string, failures []failure) error {
	status := statusOf(rd, targets, failures, metav1.NewTime(r.clock.Now()).Rfc3339Copy())
	if !differs(&rd.Status, &status) {
		return nil
	}
	changed := rd.DeepCopy()
	changed.Status = status
	if err := r.client.Status().Patch(ctx, changed, client.MergeFrom(rd), fieldOwner); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.events.Publish(eventsOf(rd, failing(rd.Status.Conditions, status.Conditions))...)
	return nil
}
