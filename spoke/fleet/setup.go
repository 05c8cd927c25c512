// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// Rights in this cluster. To carry kinds beyond these, bind the spoke's service account to a ClusterRole
// with get, list, watch, create, patch and delete on them.
//
// +kubebuilder:rbac:groups=apps.kruise.io,resources=uniteddeployments;clonesets;workloadspreads,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=create
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=configmaps,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Options say which hub, and as which cluster.
type Options struct {
	// ClusterName is this cluster's name on the hub, and its namespace there. Required.
	ClusterName string
	// HubConfig is the access to the hub; or HubKubeconfig is a file with it, which is read again
	// when it changes and need not be there yet.
	HubConfig     *rest.Config
	HubKubeconfig string
	// UserAgent of requests to the hub, when they are by HubKubeconfig.
	UserAgent string
	// Namespace of the spoke in this cluster: the agent keeps a ConfigMap there.
	Namespace string
	// HeartbeatInterval is how often the Lease on the hub is renewed. Default 10 s, at least 1 s.
	HeartbeatInterval time.Duration
	// SweepInterval is how often objects without a slice are looked for, default 1 min. SweepPatience
	// is how long the hub must have been of one epoch before any is deleted, default 10 min.
	SweepInterval, SweepPatience time.Duration
	// Workers is how many slices are worked on at once. Default 4.
	Workers int
	// SkipNameValidation lets one process run the agent more than once, as tests do.
	SkipNameValidation bool
}

func (o *Options) complete() error {
	if o.ClusterName == "" || o.Namespace == "" {
		return errors.New("fleet: ClusterName and Namespace are required")
	}
	if o.HubConfig == nil && o.HubKubeconfig == "" {
		return errors.New("fleet: HubConfig or HubKubeconfig is required")
	}
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&o.HeartbeatInterval, 10 * time.Second}, {&o.SweepInterval, time.Minute}, {&o.SweepPatience, 10 * time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	o.HeartbeatInterval = max(o.HeartbeatInterval, time.Second)
	if o.Workers <= 0 {
		o.Workers = 4
	}
	return nil
}

// Add adds the agent to a manager. It asks the hub nothing; the hub may be away. The cache indexes
// that spoke/workload names must be registered.
func Add(mgr ctrl.Manager, opts Options) error {
	if err := opts.complete(); err != nil {
		return err
	}
	ours, err := ourObjects(mgr)
	if err != nil {
		return err
	}
	if err := mgr.Add(ours); err != nil {
		return err
	}
	w := &wiring{mgr: mgr, opts: opts, ours: ours.GetCache()}
	return w.add(ours.GetClient())
}

// ourObjects is a cache of the objects that carry a slice's label, whole and with managed fields, and a
// client that goes past every cache.
func ourObjects(mgr ctrl.Manager) (cluster.Cluster, error) {
	labelled, err := labels.NewRequirement(fleetv1alpha1.SliceLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	return cluster.New(mgr.GetConfig(), func(o *cluster.Options) {
		o.Scheme = mgr.GetScheme()
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mgr.GetRESTMapper(), nil }
		o.Cache = cache.Options{DefaultLabelSelector: labels.NewSelector().Add(*labelled)}
		o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		}
	})
}

// wiring connects the parts. Its queues are the two controllers'.
type wiring struct {
	mgr  ctrl.Manager
	opts Options
	ours cache.Cache

	member              *members
	applying, reporting inbox
	apply, report       controller.Controller

	// kinds watched, as keys. Event handlers read it, so it must not be under the lock that is held
	// while a controller, which may be waiting for its handlers, is told of another source.
	kinds sync.Map
	mu    sync.Mutex
}

func (w *wiring) add(direct client.Client) error {
	member := newMembers(direct, w.ours, w.mgr.GetRESTMapper())
	w.member = member
	stored := newInventory(direct, w.opts.Namespace)
	told := events.New(w.mgr.GetEventRecorder(recorderName))
	hub, outcomes := &connection{}, newResults()
	var err error
	w.apply, err = w.controller("fleet-apply", &w.applying, &applier{
		hub: hub, members: member, inventory: stored, results: outcomes, events: told, watch: w.watch, report: w.reporting.add,
	})
	if err != nil {
		return err
	}
	w.report, err = w.controller("fleet-report", &w.reporting, &reporter{
		hub: hub, results: outcomes, clock: clock.RealClock{}, written: map[string]written{},
		observer: observer{ours: w.ours, spoke: w.mgr.GetCache(), watched: w.watches, clock: clock.RealClock{}},
	})
	if err != nil {
		return err
	}
	for _, obj := range []client.Object{&appsv1beta1.CloneSet{}, &appsv1.Deployment{}} {
		if err := w.report.Watch(source.Kind(w.mgr.GetCache(), obj, handler.EnqueueRequestsFromMapFunc(w.sliceAbove))); err != nil {
			return err
		}
	}
	return w.mgr.Add(&agent{
		options: w.opts, clock: clock.RealClock{}, connection: hub, spread: w.spread,
		sweeper: &sweeper{
			hub: hub, members: member, inventory: stored, events: told, clock: clock.RealClock{},
			interval: w.opts.SweepInterval, patience: w.opts.SweepPatience,
		},
	})
}

func (w *wiring) controller(name string, in *inbox, r reconcile.Reconciler) (controller.Controller, error) {
	c, err := controller.New(name, w.mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: w.opts.Workers, SkipNameValidation: ptr.To(w.opts.SkipNameValidation),
	})
	if err != nil {
		return nil, err
	}
	return c, c.Watch(in)
}

// spread asks both controllers to look at a slice.
func (w *wiring) spread(slice string) {
	w.applying.add(slice)
	w.reporting.add(slice)
}

// watch makes changes of our objects of a kind reach the controllers. It may be called again.
func (w *wiring) watch(kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches(kind) {
		return nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	var watched client.Object = obj
	if err := w.apply.Watch(source.Kind(w.ours, watched, handler.EnqueueRequestsFromMapFunc(sliceOf), drift(w.member.forget))); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if err := w.report.Watch(source.Kind(w.ours, watched, handler.EnqueueRequestsFromMapFunc(sliceOf))); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	w.kinds.Store(kind, nil)
	return nil
}

// drift lets through what applying must look at: everything but a change of status alone. Objects that
// are gone, by whose hand soever, are forgotten.
func drift(forget func(*unstructured.Unstructured)) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		if gone, ok := e.Object.(*unstructured.Unstructured); ok {
			forget(gone)
		}
		return true
	}, UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectNew.GetGeneration() == 0 ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}}
}

// sliceOf names the slice of an object of ours.
func sliceOf(_ context.Context, obj client.Object) []reconcile.Request {
	if name := obj.GetLabels()[fleetv1alpha1.SliceLabel]; name != "" {
		return []reconcile.Request{requestFor(name)}
	}
	return nil
}

// sliceAbove names the slice of the UnitedDeployment that controls a workload.
func (w *wiring) sliceAbove(ctx context.Context, obj client.Object) []reconcile.Request {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != unitedDeployment.Kind || !w.watches(unitedDeployment) {
		return nil
	}
	ud := &unstructured.Unstructured{}
	ud.SetGroupVersionKind(unitedDeployment)
	if err := w.ours.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, ud); err != nil {
		return nil
	}
	return sliceOf(ctx, ud)
}

func (w *wiring) watches(kind schema.GroupVersionKind) bool {
	_, ok := w.kinds.Load(kind)
	return ok
}

// inbox is a source of a controller that others put slices into.
type inbox struct {
	mu sync.Mutex
	q  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start takes the controller's queue.
func (i *inbox) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.q = q
	return nil
}

func (i *inbox) add(slice string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.q != nil && slice != "" {
		i.q.Add(requestFor(slice))
	}
}

func requestFor(slice string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: slice}}
}
