// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelistpulljob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/seconds"
)

const (
	controllerName = "imagelistpulljob-controller"
	fieldOwner     = client.FieldOwner("spoke-imagelistpulljob")
	passTimeout    = time.Minute
	// together is how long a list waits for more of its children to change.
	together = 200 * time.Millisecond
)

// Options are what this controller reads besides objects.
type Options struct {
	// Clock is the time; nil means the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagelistpulljobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagelistpulljobs/status,verbs=patch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagelistpulljobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagepulljobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update

// Reconciler runs ImageListPullJobs.
type Reconciler struct {
	Options
	client client.Client
	events events.Publisher
}

// Add starts the controller with the manager.
func Add(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &Reconciler{Options: o, client: mgr.GetClient(), events: events.New(mgr.GetEventRecorder(controllerName))}
	wake := ownership.EnqueueController(v1beta1.Kind("ImageListPullJob").GroupKind(), func(types.UID) time.Duration { return together })
	return ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1beta1.ImageListPullJob{}).
		Watches(&v1beta1.ImagePullJob{}, wake).
		WithOptions(controller.Options{ReconciliationTimeout: passTimeout}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile moves one list on.
func (r *Reconciler) Reconcile(ctx context.Context, list *v1beta1.ImageListPullJob) (reconcile.Result, error) {
	if list.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // its children are garbage
	}
	if list.Status.CompletionTime != nil {
		return r.expire(ctx, list)
	}
	v1beta1.DefaultImageListPullJob(list)
	children, err := r.childrenOf(ctx, list)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := MakePlan(list, children, r.Clock.Now())
	errs := []error{r.label(ctx, list), r.create(ctx, list, plan.Create), r.remove(ctx, list, plan.Delete)}
	if !equality.Semantic.DeepEqual(list.Status, plan.Status) {
		changed := list.DeepCopy()
		changed.Status = plan.Status
		errs = append(errs, client.IgnoreNotFound(r.client.Status().Patch(ctx, changed, client.MergeFrom(list), fieldOwner)))
	}
	return reconcile.Result{}, errors.Join(errs...)
}

// childrenOf reads the children that stay. They belong to the cache, which waits for our own writes.
func (r *Reconciler) childrenOf(ctx context.Context, list *v1beta1.ImageListPullJob) ([]*v1beta1.ImagePullJob, error) {
	var all v1beta1.ImagePullJobList
	if err := r.client.List(ctx, &all, client.InNamespace(list.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ImagePullJobs: %w", err)
	}
	var out []*v1beta1.ImagePullJob
	for i := range all.Items {
		if child := &all.Items[i]; child.DeletionTimestamp == nil && ownership.IsControlledBy(child, list.UID) {
			out = append(out, child)
		}
	}
	return out, nil
}

// label says on the list of which terms its children are.
func (r *Reconciler) label(ctx context.Context, list *v1beta1.ImageListPullJob) error {
	hash := HashOf(&list.Spec.ImagePullJobTemplate)
	if list.Labels[v1beta1.ControllerRevisionHashLabel] == hash {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": list.UID, "labels": map[string]string{v1beta1.ControllerRevisionHashLabel: hash},
	}})
	if err != nil {
		return err
	}
	target := &v1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: list.Namespace, Name: list.Name}}
	return client.IgnoreNotFound(r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldOwner))
}

// create makes children in batches that double, so that what refuses one is not asked for all.
func (r *Reconciler) create(ctx context.Context, list *v1beta1.ImageListPullJob, images []string) error {
	made := 0
	defer func() {
		if made > 0 {
			r.events.Publish(events.Normal(list, v1beta1.ImageListPullJobCreatedReason, "CreateImagePullJob", fmt.Sprintf("Create %d ImagePullJob", made)))
		}
	}()
	for batch := 1; len(images) > 0; batch *= 2 {
		now := images[:min(batch, len(images))]
		images = images[len(now):]
		var errs []error
		for _, image := range now {
			if err := r.client.Create(ctx, childOf(list, image), fieldOwner); err != nil {
				errs = append(errs, fmt.Errorf("create ImagePullJob for %s: %w", image, err))
			} else {
				made++
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) remove(ctx context.Context, list *v1beta1.ImageListPullJob, children []*v1beta1.ImagePullJob) error {
	gone := 0
	var errs []error
	for _, child := range children {
		err := r.client.Delete(ctx, child.DeepCopy(), client.Preconditions{UID: &child.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err == nil {
			gone++
		} else if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete ImagePullJob %s: %w", child.Name, err))
		}
	}
	if gone > 0 {
		r.events.Publish(events.Normal(list, v1beta1.ImageListPullJobDeletedReason, "DeleteImagePullJob", fmt.Sprintf("Delete %d ImagePullJob", gone)))
	}
	return errors.Join(errs...)
}

// expire deletes a completed list when its time is over.
func (r *Reconciler) expire(ctx context.Context, list *v1beta1.ImageListPullJob) (reconcile.Result, error) {
	ttl := list.Spec.CompletionPolicy.TTLSecondsAfterFinished
	if ttl == nil {
		return reconcile.Result{}, nil
	}
	if left := list.Status.CompletionTime.Add(seconds.Of(*ttl)).Sub(r.Clock.Now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, list, client.Preconditions{UID: &list.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}
