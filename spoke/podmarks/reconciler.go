// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podmarks

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// fieldOwner of what is written here.
const fieldOwner = client.FieldOwner("spoke-podmarks")

// Options are the settings of the controller.
type Options struct {
	// Serverless makes marks of conditions which virtual kubelets set.
	Serverless bool
}

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodepodprobes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=podprobemarkers,verbs=get;list;watch

// Reconciler marks pods.
type Reconciler struct {
	client  client.Client
	options Options
}

// Add adds the controller to the manager, whose cache needs the indexes of podprobe.
func Add(mgr manager.Manager, options Options) error {
	r := &Reconciler{client: mgr.GetClient(), options: options}
	return builder.ControllerManagedBy(mgr).Named("podmarks").
		Watches(&v1alpha1.NodePodProbe{}, resultsChanged()).
		Watches(&v1alpha1.PodProbeMarker{}, handler.EnqueueRequestsFromMapFunc(r.selected), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, r.later(), builder.WithPredicates(podChanged())).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile brings the marks of one pod up to date.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	if !pods.IsActive(pod) || pod.Spec.NodeName == "" {
		return reconcile.Result{}, nil
	}
	markers, err := podprobe.MarkersOf(ctx, r.client, pod.Namespace)
	if err != nil || len(markers) == 0 {
		return reconcile.Result{}, err
	}
	serverless, err := r.serverless(ctx, pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	if serverless {
		return reconcile.Result{}, r.write(ctx, pod, makeServerlessPatch(pod, reported(pod, markers)))
	}
	states, err := r.states(ctx, pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.write(ctx, pod, makePatch(pod, findings(states, markers)))
}

// serverless says whether a pod's conditions are results.
func (r *Reconciler) serverless(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !r.options.Serverless {
		return false, nil
	}
	var node corev1.Node
	err := r.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node, client.UnsafeDisableDeepCopy)
	return err == nil && podprobe.Serverless(&node), client.IgnoreNotFound(err)
}

// states are what the agent of the pod's node has found of the very pod.
func (r *Reconciler) states(ctx context.Context, pod *corev1.Pod) ([]v1alpha1.ContainerProbeState, error) {
	var npp v1alpha1.NodePodProbe
	if err := r.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &npp, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for i := range npp.Status.PodProbeStatuses {
		s := &npp.Status.PodProbeStatuses[i]
		if s.UID == string(pod.UID) && s.Name == pod.Name && s.Namespace == pod.Namespace {
			return s.ProbeStates, nil
		}
	}
	return nil, nil
}

// write sends a patch, if it changes anything, in one request: the status takes labels and annotations along. A pod
// that is gone, or has made way for another, needs no marks.
func (r *Reconciler) write(ctx context.Context, pod *corev1.Pod, patch podpatch.Patch) error {
	if patch.Empty() {
		return nil
	}
	body, err := patch.JSON(pod.UID, "")
	if err != nil {
		return reconcile.TerminalError(err)
	}
	target := &corev1.Pod{}
	target.Namespace, target.Name = pod.Namespace, pod.Name
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, body), fieldOwner)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
