// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobemarker

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// fieldOwner of what is written here.
const fieldOwner = client.FieldOwner("spoke-podprobemarker")

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodepodprobes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=podprobemarkers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=podprobemarkers/status,verbs=patch

// Reconciler keeps PodProbeMarkers.
type Reconciler struct {
	client client.Client
}

// Add adds the controller to the manager, whose cache needs the indexes of podprobe.
func Add(mgr manager.Manager) error {
	r := &Reconciler{client: mgr.GetClient()}
	return builder.ControllerManagedBy(mgr).Named("podprobemarker").
		For(&v1alpha1.PodProbeMarker{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, r.selecting(), builder.WithPredicates(podChanged())).
		Watches(&v1alpha1.NodePodProbe{}, cleanedUp()).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile brings one marker up to date.
func (r *Reconciler) Reconcile(ctx context.Context, marker *v1alpha1.PodProbeMarker) (reconcile.Result, error) {
	s := &snapshot{marker: marker}
	var p plan
	return steps.Run(ctx,
		steps.Step{Name: "read", Do: func(ctx context.Context) (steps.Outcome, error) {
			err := r.gather(ctx, s)
			return steps.Outcome{Stop: err != nil}, err
		}},
		steps.Step{Name: "finalizer", Do: func(ctx context.Context) (steps.Outcome, error) {
			p = makePlan(s)
			log.FromContext(ctx).V(1).Info("Planned", "hold", p.hold, "release", p.release, "reason", p.reason)
			return steps.Outcome{}, r.finalizer(ctx, marker, &p)
		}},
		steps.Step{Name: "status", Do: func(ctx context.Context) (steps.Outcome, error) {
			return steps.Outcome{}, r.status(ctx, marker, p.status)
		}},
	)
}

// gather reads all that decides.
func (r *Reconciler) gather(ctx context.Context, s *snapshot) (err error) {
	if s.marker.DeletionTimestamp != nil {
		s.cleanup, err = podprobe.NodesWith(ctx, r.client, client.ObjectKeyFromObject(s.marker))
		return err
	}
	if s.pods, err = podprobe.PodsOf(ctx, r.client, podprobe.MarkerOf(s.marker)); err != nil {
		return err
	}
	s.nodes = map[string]bool{}
	for i := range s.pods {
		name := s.pods[i].Spec.NodeName
		if _, asked := s.nodes[name]; asked || name == "" {
			continue
		}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{}, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		s.nodes[name] = err == nil
	}
	return nil
}

// finalizer puts ours on or takes it off, of the very version that was looked at.
func (r *Reconciler) finalizer(ctx context.Context, marker *v1alpha1.PodProbeMarker, p *plan) error {
	changed := marker.DeepCopy()
	switch {
	case p.hold:
		changed.Finalizers = append(changed.Finalizers, v1alpha1.PodProbeMarkerFinalizer)
	case p.release:
		changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == v1alpha1.PodProbeMarkerFinalizer })
	default:
		return nil
	}
	patch := client.MergeFromWithOptions(marker, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.client.Patch(ctx, changed, patch, fieldOwner))
}

func (r *Reconciler) status(ctx context.Context, marker *v1alpha1.PodProbeMarker, status *v1alpha1.PodProbeMarkerStatus) error {
	if status == nil {
		return nil
	}
	changed := marker.DeepCopy()
	changed.Status = *status
	err := r.client.Status().Patch(ctx, changed, client.MergeFrom(marker), fieldOwner)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
