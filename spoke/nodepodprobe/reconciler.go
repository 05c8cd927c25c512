// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// fieldOwner of what is written here.
const fieldOwner = client.FieldOwner("spoke-nodepodprobe")

// No PodProbeMarker is created here, but only who may do so in all namespaces may ask a node for probes: that is the rule
// of ValidatingAdmissionPolicy flotilla-nodepodprobes, and the right adds nothing to writing NodePodProbes.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=podprobemarkers,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodepodprobes,verbs=get;list;watch;create;patch;delete

// Reconciler keeps the NodePodProbes.
type Reconciler struct {
	client client.Client
	events events.Publisher
}

// Add adds the controller to the manager, whose cache needs the indexes of podprobe.
func Add(mgr manager.Manager) error {
	r := &Reconciler{client: mgr.GetClient(), events: events.New(mgr.GetEventRecorder("flotilla-spoke"))}
	return builder.ControllerManagedBy(mgr).Named("nodepodprobe").
		For(&v1alpha1.NodePodProbe{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.nodeOf), builder.WithPredicates(podChanged())).
		Watches(&v1alpha1.PodProbeMarker{}, handler.EnqueueRequestsFromMapFunc(r.nodesOf), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

// Reconcile brings the object of one node up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var s *snapshot
	var p plan
	return steps.Run(ctx,
		steps.Step{Name: "read", Do: func(ctx context.Context) (out steps.Outcome, err error) {
			s, err = r.gather(ctx, req.Name)
			return steps.Outcome{Stop: err != nil}, err
		}},
		steps.Step{Name: "write", Do: func(ctx context.Context) (steps.Outcome, error) {
			p = makePlan(s)
			return steps.Outcome{}, r.apply(ctx, req.Name, s.npp, &p)
		}},
		steps.Step{Name: "tell", Do: func(context.Context) (steps.Outcome, error) {
			for i := range p.unresolved {
				u := &p.unresolved[i]
				r.events.Publish(events.Warning(u.marker, "ProbePortUnknown", "ResolvePort", u.String()))
			}
			for i := range p.leftOut {
				l := &p.leftOut[i]
				r.events.Publish(events.Warning(l.marker, "ProbesLeftOut", "GatherProbes", l.on(req.Name)))
			}
			return steps.Outcome{}, nil
		}},
	)
}

// gather reads all that decides. Objects are the cache's own, but for the NodePodProbe.
func (r *Reconciler) gather(ctx context.Context, name string) (*snapshot, error) {
	s := &snapshot{node: &corev1.Node{}, npp: &v1alpha1.NodePodProbe{}, markers: map[string][]podprobe.Marker{}}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, s.node); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		s.node = nil
	}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, s.npp); err != nil {
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		s.npp = nil
	}
	var list corev1.PodList
	if err := r.client.List(ctx, &list, client.MatchingFields{podprobe.NodeIndex: name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	s.pods = list.Items
	for i := range s.pods {
		namespace := s.pods[i].Namespace
		if _, known := s.markers[namespace]; known {
			continue
		}
		markers, err := podprobe.MarkersOf(ctx, r.client, namespace)
		if err != nil {
			return nil, fmt.Errorf("markers of namespace %s: %w", namespace, err)
		}
		s.markers[namespace] = markers
	}
	return s, nil
}
