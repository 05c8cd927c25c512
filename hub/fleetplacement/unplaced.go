// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// unplaced watches the objects of one kind and tells those that no placement names.
type unplaced struct {
	*Reconciler
	gvk schema.GroupVersionKind
}

func (r *Reconciler) addUnplaced(mgr manager.Manager) error {
	for _, gvk := range r.Kinds {
		u := &unplaced{Reconciler: r, gvk: gvk}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		err := builder.ControllerManagedBy(mgr).Named("unplaced-"+strings.ToLower(gvk.Kind)).
			For(object, builder.WithPredicates(targetNews)).
			Watches(&fleetv1alpha1.FleetPlacement{}, handler.EnqueueRequestsFromMapFunc(u.target), builder.WithPredicates(goneOnly)).
			WithOptions(controller.Options{ReconciliationTimeout: passTimeout}).
			Complete(u)
		if err != nil {
			return fmt.Errorf("watching %s without a placement: %w", gvk.Kind, err)
		}
	}
	return nil
}

// target is the object a placement names, when it is of this kind.
func (u *unplaced) target(_ context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*fleetv1alpha1.FleetPlacement)
	if !ok || TargetGVK(p).GroupKind() != u.gvk.GroupKind() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.TargetRef.Name}}}
}

// Reconcile looks at one object.
func (u *unplaced) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return steps.Run(ctx, steps.Step{Name: "unplaced " + req.Name, Do: func(ctx context.Context) (steps.Outcome, error) {
		wait, err := u.pass(ctx, req)
		return steps.Outcome{RequeueAfter: wait}, err
	}})
}

// abandonInterval is how often an abandoned object is looked at while shares of it are left.
const abandonInterval = 5 * time.Second

func (u *unplaced) pass(ctx context.Context, req reconcile.Request) (time.Duration, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(u.gvk)
	if err := u.Get(ctx, req.NamespacedName, object); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	if len(u.naming(ctx, u.gvk.GroupKind(), req.Namespace, req.Name)) > 0 {
		return 0, nil
	}
	if object.GetDeletionTimestamp() != nil {
		return u.abandon(ctx, object)
	}
	divider, _, _ := u.Dividers.For(u.gvk.GroupKind(), fleetv1alpha1.DivisionDivided)
	if divider == nil {
		return 0, nil
	}
	patches, err := targetPatches(object, divider, share.Nowhere(metav1.NewTime(u.Clock.Now())))
	if err != nil {
		return 0, err
	}
	return 0, u.writeStatus(ctx, patches)
}

// abandon lets an object go whose placement went without taking its shares back, which only force can
// do: what is left of them goes with the object.
func (u *unplaced) abandon(ctx context.Context, object *unstructured.Unstructured) (time.Duration, error) {
	left, err := u.Slices.OfSource(ctx, object.GetUID())
	if err != nil {
		return 0, err
	}
	if len(left) > 0 {
		epoch, err := u.Epoch.Current(ctx)
		if err != nil {
			return 0, err
		}
		return abandonInterval, u.Slices.Remove(ctx, left, "", epoch)
	}
	return 0, u.setFinalizer(ctx, object, false)
}
