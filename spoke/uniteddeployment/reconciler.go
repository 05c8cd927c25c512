// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// +kubebuilder:rbac:groups=apps.kruise.io,resources=uniteddeployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=uniteddeployments/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=uniteddeployments/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets;statefulsets,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler brings UnitedDeployments to their spec.
type Reconciler struct {
	client.Client
	gatherer gatherer
	history  history
	writer   *writer
	events   events.Publisher
	clock    clock.PassiveClock
}

var _ reconcile.ObjectReconciler[*appsv1beta1.UnitedDeployment] = &Reconciler{}

// Reconcile makes one pass over one UnitedDeployment.
func (r *Reconciler) Reconcile(ctx context.Context, stored *appsv1beta1.UnitedDeployment) (result reconcile.Result, err error) {
	if stored.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // workloads are garbage collected
	}
	s := &snapshot{ud: defaulted(stored), now: r.clock.Now()}
	o, p, told, err := r.pass(ctx, s)
	switch {
	case inVain(err):
		return reconcile.Result{}, nil
	case p == nil && apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	}
	status := statusOf(s, p, o, metav1.NewTime(s.now))
	if err = errors.Join(err, r.writeStatus(ctx, stored, status)); err == nil && p != nil {
		result.RequeueAfter = p.recheck
	}
	r.events.Publish(told...)
	return result, err
}

// pass gathers, plans and applies. Its error is in the outcome as well.
func (r *Reconciler) pass(ctx context.Context, s *snapshot) (*outcome, *plan, []events.Event, error) {
	o := &outcome{collisions: s.ud.Status.CollisionCount}
	s.adapter = adapterOf(&s.ud.Spec.Template)
	if o.unserved = unserved(s.adapter, r.gatherer.kinds); o.unserved != "" {
		return o, nil, []events.Event{failure(s.ud, eventNotServed, errors.New(o.unserved))}, nil
	}
	revisions, err := r.history.ensure(ctx, s.ud, s.adapter)
	if err != nil {
		o.provisionErr = err
		return o, nil, []events.Event{failure(s.ud, eventRevisionFailed, err)}, err
	}
	s.current, s.update = revisions.Current.Name, revisions.Update.Name
	if err := r.gatherer.gather(ctx, s); err != nil {
		o.provisionErr, o.collisions = err, revisions.Collisions
		return o, nil, []events.Event{failure(s.ud, eventFindFailed, err)}, err
	}
	p := makePlan(s)
	o, told := r.writer.execute(ctx, s.ud, p, s.adapter.kind().Kind)
	o.collisions = revisions.Collisions
	told = append(told, planEvents(s.ud, p)...)
	err = r.history.trim(ctx, s, revisions)
	return o, p, told, errors.Join(o.provisionErr, o.updateErr, o.labelErr, err)
}

func planEvents(ud *appsv1beta1.UnitedDeployment, p *plan) []events.Event {
	var out []events.Event
	if p.allocation != nil {
		out = append(out, failure(ud, eventAllocationFailed, p.allocation))
	}
	for _, text := range p.notes {
		out = append(out, note(ud, text))
	}
	for name, v := range p.verdicts {
		if n := len(v.set); n > 0 && v.set[n-1].Reason != reasonCreated && (v.marked || v.unschedulable) {
			out = append(out, judged(ud, name, &v.set[n-1]))
		}
	}
	return out
}

// writeStatus writes the status in one patch, if it differs.
func (r *Reconciler) writeStatus(ctx context.Context, stored *appsv1beta1.UnitedDeployment, status *appsv1beta1.UnitedDeploymentStatus) error {
	if sameStatus(&stored.Status, status) {
		return nil
	}
	changed := stored.DeepCopy()
	changed.Status = *status
	err := r.Status().Patch(ctx, changed, client.MergeFrom(stored), client.FieldOwner(fieldOwner))
	return client.IgnoreNotFound(err)
}

// defaulted returns a copy with what the webhook would have filled in, for objects made before it ran.
func defaulted(stored *appsv1beta1.UnitedDeployment) *appsv1beta1.UnitedDeployment {
	ud := stored.DeepCopy()
	appsv1beta1.DefaultStoredUnitedDeploymentSpec(&ud.Spec)
	return ud
}
