// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// +kubebuilder:rbac:groups=fleet.kruise.io,resources=fleetplacements,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=fleet.kruise.io,resources=fleetplacements/status,verbs=patch
// +kubebuilder:rbac:groups=fleet.kruise.io,resources=fleetslices,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters;placements;placementdecisions,verbs=get;list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=uniteddeployments;clonesets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=workloadspreads,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=uniteddeployments/status;clonesets/status;workloadspreads/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=configmaps,verbs=get;create

// Reconciler reconciles FleetPlacements.
type Reconciler struct {
	client.Client
	// Live reads from the API server itself.
	Live client.Reader
	// Names has the metadata of ConfigMaps and Secrets: the content of none is held.
	Names cache.Cache
	// Slices writes FleetSlices.
	Slices *slice.Store
	// Dividers by kind.
	Dividers Dividers
	// Spread makes a divider that goes by a WorkloadSpread of the one of the target's kind. Nil: there are
	// no WorkloadSpreads.
	Spread func(Divider, *unstructured.Unstructured) Divider
	// Kinds whose objects are told when no placement names them.
	Kinds []schema.GroupVersionKind
	// Renderer applies overrides.
	Renderer *render.Renderer
	// Epoch of the fleet.
	Epoch *Epoch
	// Events is told what happened.
	Events events.Publisher
	// Clock of this process.
	Clock clock.Clock
	// StaleAfter is how old an agent's lease may be before its counters count as stale.
	StaleAfter time.Duration
	// DropGrace is how long a cluster that is well keeps its share after OCM's decisions dropped it.
	DropGrace time.Duration
	// Concurrency is how many placements are worked on at a time; at least 1.
	Concurrency int

	kinds   kinds
	pace    pace
	dropped dropped
	stuck   stuck
}

// Reconcile makes one pass over a placement.
func (r *Reconciler) Reconcile(ctx context.Context, p *fleetv1alpha1.FleetPlacement) (reconcile.Result, error) {
	var result reconcile.Result
	return steps.Run(ctx, steps.Step{Name: "placement " + p.Name, Do: func(ctx context.Context) (steps.Outcome, error) {
		var err error
		result, err = r.pass(ctx, p)
		return steps.Outcome{RequeueAfter: result.RequeueAfter}, err
	}})
}

func (r *Reconciler) pass(ctx context.Context, p *fleetv1alpha1.FleetPlacement) (reconcile.Result, error) {
	s, err := r.gather(ctx, p)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !p.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, s)
	}
	began := r.Clock.Now()
	d := r.decide(s)
	if d.divider != nil {
		decisionSeconds.WithLabelValues(d.dividerName).Observe(r.Clock.Since(began).Seconds())
	}
	var out outcome
	secured := r.secure(ctx, s, d)
	switch {
	case secured == nil:
		out = r.write(ctx, s, d)
	case apierrors.IsConflict(secured): // somebody changed the object a moment ago
		return reconcile.Result{}, secured
	default:
		d.notSecured(secured)
	}
	result, err := r.report(ctx, s, d, out)
	if d.resolved != nil && d.resolved.Reason == fleetv1alpha1.ReasonTargetNotSupported {
		result.RequeueAfter = steps.Sooner(result.RequeueAfter, unsupportedInterval)
	}
	result.RequeueAfter = steps.Sooner(result.RequeueAfter, steps.Sooner(d.again, out.again))
	return result, errors.Join(err, secured, out.retry())
}

// unsupportedInterval is how often a kind that cannot be placed is looked at again: its definition, or
// the hub's rights to it, may come later and wake nobody up.
const unsupportedInterval = 30 * time.Second

// report writes the status of target and placement. While only counters move it writes at most once in
// a while, and asks to be called again for the rest.
func (r *Reconciler) report(ctx context.Context, s *snapshot, d decision, out outcome) (reconcile.Result, error) {
	members := membersOf(s, d, out, r.StaleAfter)
	summary := summarize(s, d, out, members)
	status := statusOf(s, d, members, summary)
	patches, err := r.statusPatches(s, d.divider, summary, status)
	if err != nil || len(patches) == 0 {
		return reconcile.Result{}, err
	}
	if wait := r.pace.wait(s.placement.UID, s.now); wait > 0 && !turned(s.placement.Status, status) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := r.writeStatus(ctx, patches); err != nil {
		return reconcile.Result{}, err
	}
	r.pace.wrote(s.placement.UID, s.now)
	r.Events.Publish(eventsOf(s, d, out, status)...)
	return reconcile.Result{}, nil
}
