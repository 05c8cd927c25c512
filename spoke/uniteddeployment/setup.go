// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

const (
	// podDelay is how long changes of pods are gathered before one pass counts them.
	podDelay = 250 * time.Millisecond
	// passTimeout bounds one pass, so that no lost answer holds a worker for ever.
	passTimeout = 2 * time.Minute
	// staleRetry is how soon a pass is tried again that read an object which has changed since.
	staleRetry = 50 * time.Millisecond
)

// Options tune the controller.
type Options struct {
	// SkipNameValidation lets one process run the controller more than once, as tests do.
	SkipNameValidation bool
}

// Add adds the controller to a manager. The cache indexes that spoke/workload names must be
// registered. It returns an error when the API server does not know the kind.
func Add(mgr ctrl.Manager, opts Options) error {
	mapper := mgr.GetRESTMapper()
	if _, err := mapper.RESTMapping(kindOfUD.GroupKind(), kindOfUD.Version); err != nil {
		return fmt.Errorf("kind UnitedDeployment is not served: %w", err)
	}
	c, live, cached := mgr.GetClient(), mgr.GetAPIReader(), mgr.GetCache()
	kinds, err := knownKinds(mapper)
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client:   c,
		gatherer: gatherer{cached: cached, claims: claimer{Client: c, cached: cached, live: live}, kinds: kinds},
		history:  newHistory(c, live),
		writer:   newWriter(c, live),
		events:   events.New(mgr.GetEventRecorder(recorderName)),
		clock:    clock.RealClock{},
	}
	options := controller.Options{ReconciliationTimeout: passTimeout}
	if opts.SkipNameValidation { // else it is as the manager has it
		options.SkipNameValidation = &opts.SkipNameValidation
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("uniteddeployment").
		For(&appsv1beta1.UnitedDeployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, podHandler{cached}, builder.WithPredicates(podChanges())).
		WithOptions(options)
	for _, a := range adapters {
		if !slices.Contains(kinds, a.kind()) {
			continue
		}
		obj, _ := a.empty()
		b = b.Owns(obj, builder.WithPredicates(r.writer.onDelete(a.kind())))
	}
	return b.Complete(reconcile.AsReconciler(c, r))
}

// knownKinds are the kinds of templates that the API server knows now. One that is installed later is
// seen after a restart: asking again on each pass would cost a discovery request each time.
func knownKinds(mapper meta.RESTMapper) ([]schema.GroupVersionKind, error) {
	var out []schema.GroupVersionKind
	for _, a := range adapters {
		kind := a.kind()
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case err == nil:
			out = append(out, kind)
		case !meta.IsNoMatchError(err):
			return nil, fmt.Errorf("looking for kind %s: %w", kind.Kind, err)
		}
	}
	return out, nil
}

// podChanges lets through what the counters of a status and the Adaptive schedule depend on. Pods outside of subsets are none
// of our business.
func podChanges() predicate.Predicate {
	ofSubset := func(obj client.Object) bool { return obj.GetLabels()[appsv1beta1.SubsetNameLabel] != "" }
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return ofSubset(e.Object) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return ofSubset(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
			return ofSubset(after) && (pods.IsActive(before) != pods.IsActive(after) ||
				pods.IsReady(before) != pods.IsReady(after) || pods.IsUnschedulable(before) != pods.IsUnschedulable(after) ||
				before.Labels[appsv1beta1.SubsetRevisionLabel] != after.Labels[appsv1beta1.SubsetRevisionLabel])
		},
	}
}

// podHandler queues the UnitedDeployment above a pod, a little later, so that a burst of changes is
// counted once.
// It reads the cache as it is: an event handler must not wait for it to catch up.
type podHandler struct{ reader client.Reader }

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

var _ handler.EventHandler = podHandler{}

func (h podHandler) Create(ctx context.Context, e event.CreateEvent, q queue) {
	h.add(ctx, e.Object, q)
}
func (h podHandler) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	h.add(ctx, e.ObjectNew, q)
}
func (h podHandler) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	h.add(ctx, e.Object, q)
}
func (h podHandler) Generic(context.Context, event.GenericEvent, queue) {}

func (h podHandler) add(ctx context.Context, obj client.Object, q queue) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	ref, err := workload.OfPod(ctx, h.reader, pod)
	if err != nil || ref == nil {
		return
	}
	for _, a := range adapters {
		owner, _ := a.empty()
		if schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != a.kind().GroupKind() {
			continue
		}
		if h.reader.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}, owner) != nil {
			return
		}
		if above := ownership.ControllerOf(owner, kindOfUD.GroupKind()); above != nil {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: above.Name}}, podDelay)
		}
	}
}
