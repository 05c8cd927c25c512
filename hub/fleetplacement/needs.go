// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/references"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// need is a ConfigMap or a Secret that pods of some slice need.
type need struct {
	namespace string
	references.Reference
}

func (n need) String() string { return n.Kind + " " + n.namespace + "/" + n.Name }

func (n need) gvk() schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(n.Kind) }

// sliceName is the name of the slices that carry it.
func (n need) sliceName() string { return slice.Name(n.gvk().GroupKind(), n.namespace, n.Name) }

// needs sends what pods need along with their workloads: each ConfigMap and Secret has a slice of its own
// in each cluster with a slice that needs it, and as long as there is one. How many there are is counted
// anew every time, from the slices themselves, so a count cannot be wrong. One that a FleetPlacement
// names goes where that says and nowhere else.
type needs struct {
	*Reconciler
	watched kinds

	mu sync.Mutex
	// unreadable says why a kind cannot be read, and until when not to ask again.
	unreadable map[schema.GroupVersionKind]refusal
}

type refusal struct {
	why   string
	until time.Time
}

func (r *Reconciler) addNeeds(mgr manager.Manager) error {
	n := &needs{Reconciler: r, unreadable: map[schema.GroupVersionKind]refusal{}}
	c, err := builder.TypedControllerManagedBy[need](mgr).Named("needs").
		WithOptions(controller.TypedOptions[need]{MaxConcurrentReconciles: max(r.Concurrency, 1), ReconciliationTimeout: passTimeout}).
		Watches(&fleetv1alpha1.FleetSlice{}, handler.TypedEnqueueRequestsFromMapFunc(n.ofSlice), builder.WithPredicates(needNews)).
		Watches(&fleetv1alpha1.FleetPlacement{}, handler.TypedEnqueueRequestsFromMapFunc(n.ofPlacement), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Build(n)
	if err != nil {
		return fmt.Errorf("watching what pods need: %w", err)
	}
	n.watched.mapper, n.watched.live = mgr.GetRESTMapper(), r.Live
	n.watched.start = func(object *unstructured.Unstructured) error {
		return c.Watch(source.TypedKind[client.Object](r.Names, named(object.GroupVersionKind()), handler.TypedEnqueueRequestsFromMapFunc(n.ofObject), targetNews))
	}
	return nil
}

// named is an object of which only the metadata is watched.
func named(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(gvk)
	return out
}

// unheld are the kinds of which no cache of the hub holds the content.
var unheld = map[schema.GroupKind]bool{{Kind: references.ConfigMap}: true, {Kind: references.Secret}: true}

// needNews lets through which slices there are, what they need, and what members say of what is needed.
var needNews = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*fleetv1alpha1.FleetSlice)
	after, ok2 := e.ObjectNew.(*fleetv1alpha1.FleetSlice)
	if !ok1 || !ok2 || carried(after) != nil {
		return true
	}
	return before.Annotations[slice.NeedsAnnotation] != after.Annotations[slice.NeedsAnnotation] || before.UID != after.UID ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		before.Spec.Adoption != after.Spec.Adoption || before.Spec.DeletionPolicy != after.Spec.DeletionPolicy
}}

// carried is the ConfigMap or Secret that a slice carries; nil when it carries something else.
func carried(one *fleetv1alpha1.FleetSlice) *need {
	from := one.Spec.Source
	if gk := schema.FromAPIVersionAndKind(from.APIVersion, from.Kind).GroupKind(); !unheld[gk] {
		return nil
	}
	return &need{from.Namespace, references.Reference{Kind: from.Kind, Name: from.Name}}
}

func (n *needs) ofSlice(_ context.Context, o client.Object) []need {
	one, ok := o.(*fleetv1alpha1.FleetSlice)
	if !ok {
		return nil
	}
	if c := carried(one); c != nil {
		return []need{*c}
	}
	var out []need
	for _, text := range slice.Needs(one) {
		if ref, ok := references.Parse(text); ok {
			out = append(out, need{one.Spec.Source.Namespace, ref})
		}
	}
	return out
}

func (n *needs) ofPlacement(_ context.Context, o client.Object) []need {
	p, ok := o.(*fleetv1alpha1.FleetPlacement)
	if !ok || !unheld[TargetGVK(p).GroupKind()] {
		return nil
	}
	return []need{{p.Namespace, references.Reference{Kind: p.Spec.TargetRef.Kind, Name: p.Spec.TargetRef.Name}}}
}

// ofObject wakes up for objects that some slice needs or carries.
func (n *needs) ofObject(ctx context.Context, o client.Object) []need {
	one := need{o.GetNamespace(), references.Reference{Kind: o.GetObjectKind().GroupVersionKind().Kind, Name: o.GetName()}}
	if found, err := n.Slices.Needing(ctx, one.namespace, one.Reference.String()); err == nil && len(found) > 0 {
		return []need{one}
	}
	return nil
}

// Reconcile looks at one ConfigMap or Secret.
func (n *needs) Reconcile(ctx context.Context, one need) (reconcile.Result, error) {
	return steps.Run(ctx, steps.Step{Name: "needs " + one.String(), Do: func(ctx context.Context) (steps.Outcome, error) {
		wait, err := n.pass(ctx, one)
		return steps.Outcome{RequeueAfter: wait}, err
	}})
}

func (n *needs) pass(ctx context.Context, one need) (time.Duration, error) {
	in, err := n.gatherNeed(ctx, one)
	if err != nil || in == nil {
		return 0, err
	}
	s := &snapshot{now: n.Clock.Now()}
	for _, read := range []func(context.Context, *snapshot) error{n.readClusters, n.readLeases, n.readEpoch} {
		if err := read(ctx, s); err != nil {
			return 0, err
		}
	}
	in.epoch = s.epoch
	plan, err := planNeed(in)
	if err != nil {
		return 0, err
	}
	result := n.Slices.Write(ctx, plan.desired, in.carrying)
	out := outcome{failed: result.Failed}
	var gone []*fleetv1alpha1.FleetSlice
	gone, out.again = forsaken(s, plan.remove, n.StaleAfter)
	out.takeBack = errors.Join(n.Slices.Remove(ctx, plan.remove, "", s.epoch), n.Slices.Release(ctx, gone))
	n.Events.Publish(needEvents(in, result.Failed)...)
	if in.whyNot != "" {
		out.again = steps.Sooner(out.again, unsupportedInterval)
	}
	return out.again, out.retry()
}

// gatherNeed reads all that one pass needs; nil when there is nothing to do.
func (n *needs) gatherNeed(ctx context.Context, one need) (*needInput, error) {
	in := &needInput{need: one, carrying: map[string]*fleetv1alpha1.FleetSlice{}}
	if len(n.naming(ctx, one.gvk().GroupKind(), one.namespace, one.Name)) > 0 {
		return nil, nil
	}
	var err error
	if in.needing, err = n.Slices.Needing(ctx, one.namespace, one.Reference.String()); err != nil {
		return nil, err
	}
	list, err := n.Slices.Named(ctx, one.sliceName())
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.Labels[fleetv1alpha1.PlacementUIDLabel] == "" && carried(s) != nil && *carried(s) == one {
			in.carrying[s.Namespace] = s
		}
	}
	if len(in.needing) == 0 {
		if len(in.carrying) == 0 {
			return nil, nil
		}
		return in, nil
	}
	in.object, in.whyNot, err = n.read(ctx, one)
	return in, err
}

// read reads an object from the API server: nil when there is none. whyNot says why it cannot be read.
func (n *needs) read(ctx context.Context, one need) (object *unstructured.Unstructured, whyNot string, err error) {
	if why, err := n.watchable(ctx, one.gvk()); why != "" || err != nil {
		return nil, why, err
	}
	object = &unstructured.Unstructured{}
	object.SetGroupVersionKind(one.gvk())
	err = n.Live.Get(ctx, client.ObjectKey{Namespace: one.namespace, Name: one.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", nil
	case apierrors.IsForbidden(err):
		return nil, noRight(one.Kind), nil
	case err != nil:
		return nil, "", fmt.Errorf("reading %s: %w", one, err)
	}
	return object, "", nil
}

// watchable sees to it that a kind is watched. A refusal stands for a while.
func (n *needs) watchable(ctx context.Context, gvk schema.GroupVersionKind) (whyNot string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.Clock.Now()
	maps.DeleteFunc(n.unreadable, func(_ schema.GroupVersionKind, r refusal) bool { return !now.Before(r.until) })
	if r, ok := n.unreadable[gvk]; ok {
		return r.why, nil
	}
	why, err := n.watched.watch(ctx, gvk)
	if err != nil || why == "" {
		return "", err
	}
	why = noRight(gvk.Kind)
	n.unreadable[gvk] = refusal{why, now.Add(unsupportedInterval)}
	return why, nil
}

func noRight(kind string) string {
	return fmt.Sprintf("the hub may not read %ss: apply kustomize/following, or see to it that the clusters have it", kind)
}
