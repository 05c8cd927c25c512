// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// spreadIndex is the cache index of WorkloadSpreads by the workload they name.
const spreadIndex = "fleet.spreadTarget"

var workloadSpread = appsv1beta1.SchemeGroupVersion.WithKind("WorkloadSpread")

func emptySpread() *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(workloadSpread)
	return out
}

// spreadTarget is the workload that a WorkloadSpread names; the kind is empty when it names none.
func spreadTarget(o client.Object) (schema.GroupKind, string) {
	spread, ok := o.(*unstructured.Unstructured)
	if !ok {
		return schema.GroupKind{}, ""
	}
	ref, _, _ := unstructured.NestedStringMap(spread.Object, "spec", "targetRef")
	return schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"]).GroupKind(), ref["name"]
}

func (r *Reconciler) indexSpreads(ctx context.Context, indexer client.FieldIndexer) error {
	if r.Spread == nil {
		return nil
	}
	return indexer.IndexField(ctx, emptySpread(), spreadIndex, indexSpread)
}

func indexSpread(o client.Object) []string {
	gk, name := spreadTarget(o)
	return []string{TargetKey(gk, name)}
}

// spreadsOf lists the WorkloadSpreads of a workload, the oldest first. They are the cache's own: read only.
func (r *Reconciler) spreadsOf(ctx context.Context, gk schema.GroupKind, namespace, name string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloadSpread)
	if err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{spreadIndex: TargetKey(gk, name)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing WorkloadSpreads: %w", err)
	}
	out := slices.DeleteFunc(slices.Clone(list.Items), func(u unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil })
	slices.SortFunc(out, func(a, b unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out, nil
}

// readSpread finds the oldest WorkloadSpread of the target.
func (r *Reconciler) readSpread(ctx context.Context, s *snapshot) error {
	if r.Spread == nil {
		return nil
	}
	list, err := r.spreadsOf(ctx, TargetGVK(s.placement).GroupKind(), s.placement.Namespace, s.placement.Spec.TargetRef.Name)
	if len(list) > 0 {
		s.spread = &list[0]
	}
	return err
}

// dividerOf is the divider of the target's kind, and what it is called; or why there is none.
func (r *Reconciler) dividerOf(s *snapshot) (divider Divider, name, whyNot string) {
	mode := orDefault(s.placement.Spec.Division.Mode, fleetv1alpha1.DivisionDivided)
	divider, name, whyNot = r.Dividers.For(TargetGVK(s.placement).GroupKind(), mode)
	if divider != nil && s.spread != nil {
		divider = r.Spread(divider, s.spread)
	}
	return divider, name, whyNot
}

// addSpreads lets the placements of a workload follow its WorkloadSpread, and watches for WorkloadSpreads
// that nobody goes by.
func (r *Reconciler) addSpreads(mgr manager.Manager, placements controller.Controller) error {
	if r.Spread == nil {
		return nil
	}
	ofWorkload := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		gk, name := spreadTarget(o)
		return r.naming(ctx, gk, o.GetNamespace(), name)
	})
	if err := placements.Watch(source.Kind[client.Object](mgr.GetCache(), emptySpread(), ofWorkload, targetNews)); err != nil {
		return fmt.Errorf("watching WorkloadSpreads: %w", err)
	}
	idle := &idleSpread{r}
	return builder.ControllerManagedBy(mgr).Named("unplaced-workloadspread").
		For(emptySpread(), builder.WithPredicates(targetNews)).
		Watches(emptySpread(), handler.EnqueueRequestsFromMapFunc(idle.others), builder.WithPredicates(goneOnly)).
		Watches(&fleetv1alpha1.FleetPlacement{}, handler.EnqueueRequestsFromMapFunc(idle.ofPlacement), builder.WithPredicates(goneOnly)).
		WithOptions(controller.Options{ReconciliationTimeout: passTimeout}).
		Complete(idle)
}

// idleSpread tells WorkloadSpreads that no placement goes by, because no placement names their workload or
// because an older one has it.
type idleSpread struct{ *Reconciler }

func (i *idleSpread) others(ctx context.Context, o client.Object) []reconcile.Request {
	gk, name := spreadTarget(o)
	return i.requests(ctx, gk, o.GetNamespace(), name)
}

func (i *idleSpread) ofPlacement(ctx context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*fleetv1alpha1.FleetPlacement)
	if !ok {
		return nil
	}
	return i.requests(ctx, TargetGVK(p).GroupKind(), p.Namespace, p.Spec.TargetRef.Name)
}

func (i *idleSpread) requests(ctx context.Context, gk schema.GroupKind, namespace, name string) (out []reconcile.Request) {
	list, err := i.spreadsOf(ctx, gk, namespace, name)
	if err != nil {
		return nil // as in listed
	}
	for n := range list {
		out = append(out, requestFor(&list[n]))
	}
	return out
}

// Reconcile looks at one WorkloadSpread.
func (i *idleSpread) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return steps.Run(ctx, steps.Step{Name: "WorkloadSpread " + req.Name, Do: func(ctx context.Context) (steps.Outcome, error) {
		return steps.Outcome{}, i.pass(ctx, req)
	}})
}

func (i *idleSpread) pass(ctx context.Context, req reconcile.Request) error {
	spread := emptySpread()
	if err := i.Get(ctx, req.NamespacedName, spread); err != nil || spread.GetDeletionTimestamp() != nil {
		return client.IgnoreNotFound(err)
	}
	gk, name := spreadTarget(spread)
	list, err := i.spreadsOf(ctx, gk, spread.GetNamespace(), name)
	if err != nil {
		return err
	}
	placed := metav1.Condition{
		Type: fleetv1alpha1.ConditionFleetPlaced, Status: metav1.ConditionFalse, Reason: fleetv1alpha1.ReasonNoPlacement,
		Message: fmt.Sprintf("no FleetPlacement names %s %q, so this goes nowhere", gk.Kind, name),
	}
	switch {
	case len(list) > 0 && list[0].GetUID() != spread.GetUID():
		placed.Reason = fleetv1alpha1.ReasonTargetTaken
		placed.Message = fmt.Sprintf("WorkloadSpread %q is older and spreads %s %q", list[0].GetName(), gk.Kind, name)
	case len(i.naming(ctx, gk, spread.GetNamespace(), name)) > 0:
		return nil // the placement's pass tells it
	}
	return i.tell(ctx, spread, placed)
}

// tell writes the condition, and publishes it when it is news.
func (i *idleSpread) tell(ctx context.Context, spread *unstructured.Unstructured, placed metav1.Condition) error {
	companion, ok := i.Spread(nil, spread).(Companion)
	if !ok {
		return nil
	}
	summary := share.Summary{Observed: true, Now: metav1.NewTime(i.Clock.Now()), Conditions: []metav1.Condition{placed}}
	_, status, err := companion.Companion(summary)
	if err != nil {
		return err
	}
	list, err := appendStatus(nil, spread, status)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := i.writeStatus(ctx, list); err != nil {
		return err
	}
	i.Events.Publish(events.Warning(spread, placed.Reason, actionDivide, placed.Message))
	return nil
}
