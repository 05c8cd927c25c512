// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/pullsecrets"
)

const (
	controllerName = "nodeimage-controller"
	fieldOwner     = client.FieldOwner("spoke-nodeimage")
	passTimeout    = time.Minute
	// soonest is the shortest wait for something that depends on time; up to two thirds are added.
	soonest = 3 * time.Second
)

// Options are the flags this controller reads.
type Options struct {
	// CreationDelay is how long a node must have been ready.
	CreationDelay time.Duration
	// Secrets are those of the namespace that node agents read.
	Secrets *pullsecrets.Copies
	// Namespace is that namespace.
	Namespace string
	// Clock is the time; nil means the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodeimages,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodeimages/status,verbs=patch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagepulljobs,verbs=get;list;watch

// Reconciler keeps NodeImages.
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
	return ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&appsv1beta1.NodeImage{}).
		Watches(&corev1.Node{}, sameName(), builder.WithPredicates(nodeChanged())).
		Watches(&appsv1beta1.ImagePullJob{}, r.nodesOfJob(), builder.WithPredicates(gone())).
		WatchesRawSource(o.Secrets.Source(r.nodesOfSecret(), gone())).
		WithOptions(controller.Options{ReconciliationTimeout: passTimeout}).
		Complete(r)
}

// Reconcile brings the NodeImage of one node in order.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	node, err := get(ctx, r.client, req.Name, &corev1.Node{})
	if err != nil {
		return reconcile.Result{}, err
	}
	obj, err := get(ctx, r.client, req.Name, &appsv1beta1.NodeImage{})
	if err != nil {
		return reconcile.Result{}, err
	}
	step, wait := Decide(node, obj, r.CreationDelay, r.Clock.Now())
	switch step {
	case Create:
		made := &appsv1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: req.Name, Labels: maps.Clone(node.Labels)}}
		// One that the cache does not show yet is no error (IP-05).
		return reconcile.Result{}, client.IgnoreAlreadyExists(r.client.Create(ctx, made, fieldOwner))
	case Delete:
		return reconcile.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, obj, client.Preconditions{UID: &obj.UID}))
	case Keep:
		return r.keep(ctx, node, obj)
	case Wait, None:
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// keep puts labels and tags right, and if they are, gives up what the agent left alone.
func (r *Reconciler) keep(ctx context.Context, node *corev1.Node, obj *appsv1beta1.NodeImage) (reconcile.Result, error) {
	known, failed := r.known(ctx)
	images, wait := Clean(obj, known, r.Clock.Now())
	if err := failed(); err != nil {
		return reconcile.Result{}, err
	}
	changed := obj.DeepCopy()
	changed.Labels = LabelsFor(node, obj)
	if changed.Spec.Images = images; len(images) == 0 {
		changed.Spec.Images = nil
	}
	if !equality.Semantic.DeepEqual(obj.Labels, changed.Labels) || !equality.Semantic.DeepEqual(obj.Spec, changed.Spec) {
		return again(r.client.Patch(ctx, changed, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), fieldOwner))
	}
	status, failures, left := GiveUp(obj, node, r.Clock.Now())
	if len(failures) == 0 {
		return reconcile.Result{RequeueAfter: atLeast(steps.Sooner(wait, left))}, nil
	}
	changed = obj.DeepCopy()
	changed.Status = status
	result, err := again(r.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), fieldOwner))
	if err == nil && result.IsZero() {
		r.events.Publish(failureEvents(obj, failures)...)
	}
	return result, err
}

// again makes of a conflict another try.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	return reconcile.Result{}, err
}

func atLeast(wait time.Duration) time.Duration {
	if wait <= 0 || wait >= soonest {
		return wait
	}
	return soonest + rand.N(2*time.Second) //nolint:gosec // spreads load
}

// known answers from the caches; failed is the first question that could not be answered: what is unknown stays.
func (r *Reconciler) known(ctx context.Context) (known Known, failed func() error) {
	var first error
	there := func(key client.ObjectKey, err error) bool {
		if client.IgnoreNotFound(err) != nil && !errors.Is(err, pullsecrets.ErrUnreadable) {
			first = cmp.Or(first, fmt.Errorf("read %s: %w", key, err))
		}
		return !apierrors.IsNotFound(err)
	}
	find := func(o corev1.ObjectReference) (*appsv1beta1.ImagePullJob, bool) {
		job, key := &appsv1beta1.ImagePullJob{}, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}
		return job, there(key, r.client.Get(ctx, key, job))
	}
	return Known{
		Owner: func(o corev1.ObjectReference) bool {
			job, found := find(o)
			return found && (job.UID == "" || job.UID == o.UID)
		},
		Waits: func(o corev1.ObjectReference) bool {
			job, found := find(o)
			never := job.Spec.CompletionPolicy.Type == appsv1beta1.CompletionPolicyNever
			return found && job.UID == o.UID && job.DeletionTimestamp == nil && job.Status.CompletionTime == nil && !never
		},
		Secret: func(ref appsv1beta1.ReferenceObject) bool {
			if ref.Namespace != r.Namespace {
				return true
			}
			_, err := r.Secrets.Get(ctx, ref.Name)
			return there(client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, err)
		},
	}, func() error { return first }
}

// get returns nil for an object that is not there.
func get[T client.Object](ctx context.Context, c client.Client, name string, obj T) (T, error) {
	err := c.Get(ctx, client.ObjectKey{Name: name}, obj)
	if apierrors.IsNotFound(err) {
		var none T
		return none, nil
	}
	return obj, err
}

func sortTags(tags []appsv1beta1.ImageTagStatus) []appsv1beta1.ImageTagStatus {
	slices.SortFunc(tags, func(a, b appsv1beta1.ImageTagStatus) int { return cmp.Compare(a.Tag, b.Tag) })
	return tags
}
