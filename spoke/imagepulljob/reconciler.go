// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/imageref"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/pullsecrets"
)

const (
	controllerName = "imagepulljob-controller"
	fieldOwner     = client.FieldOwner("spoke-imagepulljob")
	passTimeout    = 2 * time.Minute
	// statusGap lies between two writes of one job's status.
	statusGap = time.Second
	// asksAtOnce is how many NodeImages of one job are written at a time.
	asksAtOnce = 8
)

// Options are the flags this controller reads.
type Options struct {
	// DefaultTTL is added to how long nodes keep tags of jobs of type Always. Seconds.
	DefaultTTL int32
	// Namespace is where pull secrets are copied to.
	Namespace string
	// Copies are the Secrets in that namespace.
	Copies *pullsecrets.Copies
	// Clock is the time; nil means the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagepulljobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagepulljobs/status,verbs=patch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagepulljobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=nodeimages,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",namespace=kruise-daemon-config,roleName=flotilla-spoke-pull-secrets,resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update

// Reconciler runs ImagePullJobs.
type Reconciler struct {
	Options
	client client.Client
	live   client.Reader
	events events.Publisher
	copier *copier

	mu sync.Mutex
	// wrote is when each job's status was written last.
	wrote map[types.UID]time.Time
}

// Add starts the controller with the manager.
func Add(mgr ctrl.Manager, o Options) error {
	r := newReconciler(mgr.GetClient(), mgr.GetAPIReader(), o)
	r.events = events.New(mgr.GetEventRecorder(controllerName))
	return ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&v1beta1.ImagePullJob{}).
		Watches(&v1beta1.NodeImage{}, r.jobsOfNode()).
		Watches(&corev1.Pod{}, r.jobsOfPod(), builder.WithPredicates(podMoved())).
		WatchesRawSource(o.Copies.Source(jobsOfCopy())).
		WithOptions(controller.Options{ReconciliationTimeout: passTimeout}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

func newReconciler(c client.Client, live client.Reader, o Options) *Reconciler {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Reconciler{
		Options: o, client: c, live: live, wrote: map[types.UID]time.Time{},
		copier: &copier{client: c, live: live, copies: o.Copies, namespace: o.Namespace, read: map[sourceKey]finding{}},
	}
}

// Reconcile moves one job on.
func (r *Reconciler) Reconcile(ctx context.Context, job *v1beta1.ImagePullJob) (reconcile.Result, error) {
	now := r.Clock.Now()
	if !active(job) {
		if err := r.finish(ctx, job); err != nil || job.DeletionTimestamp != nil {
			return quiet(err)
		}
		return r.expire(ctx, job, now)
	}
	if controllerutil.AddFinalizer(job, v1beta1.ImagePullJobFinalizer) {
		return quiet(r.setFinalizers(ctx, job))
	}
	v1beta1.DefaultImagePullJob(job)
	image, err := imageref.Parse(job.Spec.Image)
	if err != nil { // only where admission was off
		return r.writeStatus(ctx, job, Plan{Status: withMessage(job, "image "+job.Spec.Image+" "+err.Error())})
	}
	snapshot, keys, err := r.gather(ctx, job, image, now)
	if err != nil {
		return quiet(err)
	}
	plan := MakePlan(snapshot)
	plan.Wait = steps.Sooner(plan.Wait, keys.wait)
	r.tellKeys(job, keys)
	err = r.carry(ctx, snapshot, plan, keys.err)
	result, statusErr := r.writeStatus(ctx, job, plan)
	if err := errors.Join(err, statusErr); err != nil {
		return quiet(err)
	}
	return result, nil
}

// gather reads what a plan is made from. Secrets that cannot be copied do not keep a job from its end: it counts the nodes
// that were asked before, and its deadline holds.
func (r *Reconciler) gather(ctx context.Context, job *v1beta1.ImagePullJob, image imageref.Reference, now time.Time) (Snapshot, pullWith, error) {
	keys, err := r.copier.sync(ctx, job, now)
	if keys.err = err; err != nil {
		r.events.Publish(events.Warning(job, "FailedCopyPullSecret", "CopyPullSecret", conditions.Cut(err.Error(), 1000)))
	}
	nodes, err := r.nodes(ctx, job)
	return Snapshot{Job: job, Image: image, Nodes: nodes, Secrets: keys.refs, Now: now}, keys, err
}

// tellKeys tells of pull secrets that nodes pull without.
func (r *Reconciler) tellKeys(job *v1beta1.ImagePullJob, keys pullWith) {
	for _, k := range []struct {
		names       []string
		reason, are string
	}{
		{keys.missing, "PullSecretNotFound", "are not there"},
		{keys.unfit, "NotAPullSecret", "are neither of type " + string(corev1.SecretTypeDockerConfigJson) + " nor " + string(corev1.SecretTypeDockercfg)},
	} {
		if len(k.names) > 0 {
			note := "pull secrets " + strings.Join(k.names, ", ") + " " + k.are + ": nodes pull without them"
			r.events.Publish(events.Warning(job, k.reason, "CopyPullSecret", note))
		}
	}
}

// carry asks nodes, and brings the bounds of those that pull up to date. Some are written at a time: a job whose nodes
// are asked one after the other has too few of them pull. Of a job that is not ready for it no node is written; when it is
// over, that is no failure any more.
func (r *Reconciler) carry(ctx context.Context, s Snapshot, plan Plan, unready error) error {
	switch {
	case plan.Status.CompletionTime != nil:
		return nil
	case unready != nil:
		return unready
	}
	errs := each(plan.Ask, func(node *v1beta1.NodeImage) error {
		return r.change(ctx, node, s, func(node *v1beta1.NodeImage, others []*v1beta1.ImagePullJob) bool {
			return Ask(node, s, Terms{Others: others, DefaultTTL: r.DefaultTTL, Spread: rand.Float64()}) //nolint:gosec // spreads load
		})
	})
	errs = append(errs, each(plan.Pulling, func(node *v1beta1.NodeImage) error {
		return r.change(ctx, node, s, func(node *v1beta1.NodeImage, others []*v1beta1.ImagePullJob) bool {
			return Adjust(node, s, others)
		})
	})...)
	return errors.Join(errs...)
}

// each does something for all nodes, asksAtOnce of them at a time. It returns what failed.
func each(nodes []*v1beta1.NodeImage, do func(*v1beta1.NodeImage) error) []error {
	errs := make([]error, len(nodes))
	var group errgroup.Group
	group.SetLimit(asksAtOnce)
	for i, node := range nodes {
		group.Go(func() error {
			errs[i] = do(node)
			return nil
		})
	}
	_ = group.Wait() // each error is in errs
	return errs
}

// change patches a NodeImage if do changes it. Who else wrote it meanwhile is taken in.
func (r *Reconciler) change(ctx context.Context, node *v1beta1.NodeImage, s Snapshot, do func(*v1beta1.NodeImage, []*v1beta1.ImagePullJob) bool) error {
	for range 4 {
		others, err := r.others(ctx, node, s)
		if err != nil {
			return err
		}
		changed := node.DeepCopy()
		if !do(changed, others) {
			return nil
		}
		err = r.client.Patch(ctx, changed, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}), fieldOwner)
		if !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
		fresh := &v1beta1.NodeImage{}
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(node), fresh); err != nil {
			return client.IgnoreNotFound(err)
		}
		node = fresh
	}
	return fmt.Errorf("NodeImage %s changes all the time", node.Name)
}

// finish gives back what the job holds.
func (r *Reconciler) finish(ctx context.Context, job *v1beta1.ImagePullJob) error {
	r.mu.Lock()
	delete(r.wrote, job.UID)
	r.mu.Unlock()
	if !controllerutil.ContainsFinalizer(job, v1beta1.ImagePullJobFinalizer) {
		return nil
	}
	if err := r.copier.release(ctx, job); err != nil {
		r.events.Publish(events.Warning(job, "FailedRemovePullSecret", "RemovePullSecret", conditions.Cut(err.Error(), 1000)))
		return err
	}
	controllerutil.RemoveFinalizer(job, v1beta1.ImagePullJobFinalizer)
	return client.IgnoreNotFound(r.setFinalizers(ctx, job))
}

// expire deletes a completed job when its time is over. A child of a list goes with its list: it would be made anew, and
// its image be pulled again, while others of the list are under way.
func (r *Reconciler) expire(ctx context.Context, job *v1beta1.ImagePullJob, now time.Time) (reconcile.Result, error) {
	ttl := job.Spec.CompletionPolicy.TTLSecondsAfterFinished
	if ttl == nil || ownership.ControllerOf(job, v1beta1.Kind("ImageListPullJob").GroupKind()) != nil {
		return reconcile.Result{}, nil
	}
	if left := job.Status.CompletionTime.Add(seconds.Of(*ttl)).Sub(now); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, job, client.Preconditions{UID: &job.UID}))
}

func quiet(err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	case errors.Is(err, pullsecrets.ErrUnreadable): // told by an event; nothing tells when that is mended
		return reconcile.Result{RequeueAfter: recheck}, nil
	}
	return reconcile.Result{}, err
}

// writeStatus writes the status where it differs, once a second at most.
func (r *Reconciler) writeStatus(ctx context.Context, job *v1beta1.ImagePullJob, plan Plan) (reconcile.Result, error) {
	wait := reconcile.Result{RequeueAfter: plan.Wait}
	if equality.Semantic.DeepEqual(job.Status, plan.Status) {
		return wait, nil
	}
	now := r.Clock.Now()
	r.mu.Lock()
	left := r.wrote[job.UID].Add(statusGap).Sub(now)
	if left <= 0 {
		r.wrote[job.UID] = now
	}
	r.mu.Unlock()
	if left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	changed := job.DeepCopy()
	changed.Status = plan.Status
	err := r.client.Status().Patch(ctx, changed, client.MergeFrom(job), fieldOwner)
	return wait, client.IgnoreNotFound(err)
}

func withMessage(job *v1beta1.ImagePullJob, message string) v1beta1.ImagePullJobStatus {
	status := *job.Status.DeepCopy()
	status.Message = message
	return status
}
