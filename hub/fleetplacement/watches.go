// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/slice"
)

// SetupWithManager adds the reconciler, the watch over leases and the watch over the epoch. Indexes of
// placements and slices are made here.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	ctx := context.Background() //nolint:forbidigo // indexes are made before there is another
	if err := errors.Join(
		slice.AddIndexes(ctx, mgr.GetFieldIndexer()),
		mgr.GetFieldIndexer().IndexField(ctx, &fleetv1alpha1.FleetPlacement{}, TargetIndex, IndexByTarget),
		r.indexSpreads(ctx, mgr.GetFieldIndexer()),
	); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	wake := make(chan event.TypedGenericEvent[string], 1024)
	c, err := builder.ControllerManagedBy(mgr).Named("fleetplacement").
		For(&fleetv1alpha1.FleetPlacement{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(r.Concurrency, 1), ReconciliationTimeout: passTimeout}).
		Watches(&fleetv1alpha1.FleetPlacement{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(goneOnly)).
		Watches(&fleetv1alpha1.FleetSlice{}, handler.EnqueueRequestsFromMapFunc(r.ofSlice), builder.WithPredicates(sliceNews)).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.everyone), builder.WithPredicates(clusterNews)).
		Watches(&clusterv1beta1.Placement{}, handler.EnqueueRequestsFromMapFunc(r.ofOCMPlacement)).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(r.ofDecision)).
		WatchesRawSource(source.TypedChannel(wake, handler.TypedEnqueueRequestsFromMapFunc(r.ofCluster))).
		Build(reconcile.AsReconciler(mgr.GetClient(), r))
	if err != nil {
		return err
	}
	r.kinds.mapper, r.kinds.live = mgr.GetRESTMapper(), r.Live
	r.kinds.start = func(object *unstructured.Unstructured) error {
		if gvk := object.GroupVersionKind(); unheld[gvk.GroupKind()] {
			return c.Watch(source.Kind[client.Object](r.Names, named(gvk), handler.EnqueueRequestsFromMapFunc(r.ofTarget), targetNews))
		}
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), object, handler.EnqueueRequestsFromMapFunc(r.ofTarget), targetNews))
	}
	return errors.Join(r.addUnplaced(mgr), r.addNeeds(mgr), r.addSpreads(mgr, c), r.addFreshness(mgr, wake), mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		r.Epoch.Watch(ctx, func() { tell(ctx, wake, everyCluster) })
		return nil
	})))
}

// passTimeout bounds one pass: one that hangs is given up and tried again.
const passTimeout = 2 * time.Minute

// everyCluster wakes up every placement.
const everyCluster = ""

func tell(ctx context.Context, wake chan<- event.TypedGenericEvent[string], cluster string) {
	select {
	case wake <- event.TypedGenericEvent[string]{Object: cluster}:
	case <-ctx.Done():
	}
}

func (r *Reconciler) addFreshness(mgr manager.Manager, wake chan<- event.TypedGenericEvent[string]) error {
	f := &Freshness{
		Reader: mgr.GetClient(), Clock: r.Clock, StaleAfter: r.StaleAfter,
		Turned: func(ctx context.Context, cluster string) { tell(ctx, wake, cluster) },
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == fleetv1alpha1.AddOnName })
	return builder.ControllerManagedBy(mgr).Named("agent-freshness").
		For(&coordinationv1.Lease{}, builder.WithPredicates(ours)).Complete(f)
}

// StoredKind is how a target is read: our own kinds in the version they are stored in, whatever the placement says.
func StoredKind(scheme *runtime.Scheme, gvk schema.GroupVersionKind) schema.GroupVersionKind {
	stored := appsv1beta1.SchemeGroupVersion.WithKind(gvk.Kind)
	if gvk.Group == stored.Group && scheme.Recognizes(stored) {
		return stored
	}
	return gvk
}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

func (r *Reconciler) listed(ctx context.Context, keep func(*fleetv1alpha1.FleetPlacement) bool, opts ...client.ListOption) []reconcile.Request {
	var list fleetv1alpha1.FleetPlacementList
	if err := r.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // the cache of a kind this controller watches fails only when it stops
	}
	var out []reconcile.Request
	for i := range list.Items {
		if keep(&list.Items[i]) {
			out = append(out, requestFor(&list.Items[i]))
		}
	}
	return out
}

func anyPlacement(*fleetv1alpha1.FleetPlacement) bool { return true }

func (r *Reconciler) naming(ctx context.Context, gk schema.GroupKind, namespace, name string) []reconcile.Request {
	return r.listed(ctx, anyPlacement, client.InNamespace(namespace), client.MatchingFields{TargetIndex: TargetKey(gk, name)})
}

// rivals are the placements of the same target.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*fleetv1alpha1.FleetPlacement)
	if !ok {
		return nil
	}
	return r.naming(ctx, TargetGVK(p).GroupKind(), p.Namespace, p.Spec.TargetRef.Name)
}

func (r *Reconciler) ofTarget(ctx context.Context, o client.Object) []reconcile.Request {
	return r.naming(ctx, o.GetObjectKind().GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
}

func (r *Reconciler) ofSlice(ctx context.Context, o client.Object) []reconcile.Request {
	s, ok := o.(*fleetv1alpha1.FleetSlice)
	if !ok {
		return nil
	}
	source := s.Spec.Source
	gk := schema.FromAPIVersionAndKind(source.APIVersion, source.Kind).GroupKind()
	return r.naming(ctx, gk, source.Namespace, source.Name)
}

func (r *Reconciler) everyone(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.listed(ctx, anyPlacement)
}

func (r *Reconciler) ofOCMPlacement(ctx context.Context, o client.Object) []reconcile.Request {
	return r.referring(ctx, o.GetNamespace(), o.GetName())
}

func (r *Reconciler) ofDecision(ctx context.Context, o client.Object) []reconcile.Request {
	return r.referring(ctx, o.GetNamespace(), o.GetLabels()[clusterv1beta1.PlacementLabel])
}

func (r *Reconciler) referring(ctx context.Context, namespace, name string) []reconcile.Request {
	return r.listed(ctx, func(p *fleetv1alpha1.FleetPlacement) bool {
		return p.Spec.PlacementRef != nil && p.Spec.PlacementRef.Name == name
	}, client.InNamespace(namespace))
}

// ofCluster are the placements with a slice in a cluster; everyCluster is all of them.
func (r *Reconciler) ofCluster(ctx context.Context, cluster string) []reconcile.Request {
	if cluster == everyCluster {
		return r.everyone(ctx, nil)
	}
	held, err := r.Slices.OfCluster(ctx, cluster)
	if err != nil {
		return nil // as in listed
	}
	seen := map[reconcile.Request]bool{}
	var out []reconcile.Request
	for _, one := range held {
		for _, req := range r.ofSlice(ctx, one) {
			if !seen[req] {
				seen[req] = true
				out = append(out, req)
			}
		}
	}
	return out
}

// goneOnly lets deletions through.
var goneOnly = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// sliceNews lets through what members report and what others change.
var sliceNews = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
}}

// clusterNews lets through what placements depend on, and not every heartbeat.
var clusterNews = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*clusterv1.ManagedCluster)
	after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
	return !ok1 || !ok2 || !placement.FromManagedCluster(before).Equal(placement.FromManagedCluster(after))
}}

// targetNews lets through changes of what members get, and of finalizers and deletion, but not of status.
var targetNews = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld, e.ObjectNew
	if after.GetGeneration() == 0 { // kinds without generations
		return before.GetResourceVersion() != after.GetResourceVersion()
	}
	return before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration() ||
		len(before.GetFinalizers()) != len(after.GetFinalizers()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations())
}}
