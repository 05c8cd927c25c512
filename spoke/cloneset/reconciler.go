// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
	"github.com/flotilla-sh/flotilla/spoke/prepull"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

const (
	controllerName = "cloneset-controller"
	fieldOwner     = "spoke-cloneset"
	// passTimeout bounds one pass, so that no lost answer holds a worker for ever.
	passTimeout = 2 * time.Minute
)

// Options are the gates and flags this controller reads.
type Options struct {
	// ShortHash labels pods with the short hash instead of the revision's name.
	ShortHash bool
	// PartitionRollback moves updated pods back when the partition is raised.
	PartitionRollback bool
	// PreparingUpdateAsUpdate counts PreparingUpdate pods as updated when scaling.
	PreparingUpdateAsUpdate bool
	// ExcludePreparingDelete leaves PreparingDelete pods out of the count when scaling.
	ExcludePreparingDelete bool
	// RecreateOnClaimChange forbids in-place updates when volumeClaimTemplates changed.
	RecreateOnClaimChange bool
	// EnvFromMetadata restarts containers in place when metadata their env refers to changes. It
	// needs the node agent.
	EnvFromMetadata bool
	// VerticalScaling changes cpu and memory of running pods. It needs the resize subresource of pods.
	VerticalScaling bool
	// PreDownload has images pulled before pods are updated in place. The manager's cache must then have
	// index ownership.ControllerUIDIndex on ImagePullJobs.
	PreDownload bool
	// Guard is asked before each update of a pod; nil asks nobody.
	Guard UpdateGuard
	// Clock is the time; nil means the real one.
	Clock clock.PassiveClock
}

// UpdateGuard keeps updates from making too many pods unavailable.
type UpdateGuard interface {
	// MayUpdate returns why the pod may not be updated now, in words that stay the same while that does; empty when it may.
	// An error says that it could not be found out.
	MayUpdate(ctx context.Context, pod *corev1.Pod) (refusal string, err error)
}

// Reconciler runs CloneSets.
type Reconciler struct {
	Options
	client    client.Client
	podsOf    *ownership.Dependents[*corev1.Pod]
	claimsOf  *ownership.Dependents[*corev1.PersistentVolumeClaim]
	revisions *revision.Store
	executor  *execute.Executor
	events    events.Publisher
	puller    *prepull.Puller
	differs   differs
	pace      *pace
	sent      sent
	pacer     steps.Pacer
	tallies   *tallies
}

// differs compare revisions with and without their claim templates: InPlaceOnly ignores the latter.
type differs struct{ plain, strict *inplace.Differ }

// +kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=get;patch;update
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=imagepulljobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch;update

// SetupWithManager starts the controller with the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.tallies = newTallies(mgr.GetCache())
	if err := registerMetrics(mgr, r.tallies); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if err := r.index(ctx, mgr.GetCache()); err != nil {
		return err
	}
	r.init(mgr.GetClient(), mgr.GetAPIReader(), events.New(mgr.GetEventRecorder(controllerName)))
	wake := ownership.EnqueueController(appsv1beta1.Kind("CloneSet").GroupKind(), func(uid types.UID) time.Duration {
		return r.pacer.Left(uid, r.Clock.Now())
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&appsv1beta1.CloneSet{}, builder.WithPredicates(r.setChanged(), r.setGone())).
		Watches(&corev1.Pod{}, wake, builder.WithPredicates(podChanged())).
		Watches(&corev1.PersistentVolumeClaim{}, wake, builder.WithPredicates(claimChanged())).
		WithOptions(controller.Options{ReconciliationTimeout: passTimeout}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Add starts the controller with the manager.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	return (&Reconciler{Options: o}).SetupWithManager(ctx, mgr)
}

// index makes the cache find pods and claims by their set.
func (r *Reconciler) index(ctx context.Context, informers cache.Informers) (err error) {
	if r.podsOf, err = ownership.NewDependents(ctx, informers, &corev1.Pod{}); err != nil {
		return err
	}
	r.claimsOf, err = ownership.NewDependents(ctx, informers, &corev1.PersistentVolumeClaim{})
	return err
}

func (r *Reconciler) init(c client.Client, live client.Reader, publisher events.Publisher) {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	r.client, r.events = c, publisher
	r.revisions = &revision.Store{Client: c, Live: live}
	r.executor = &execute.Executor{
		Client: c, Live: live, FieldOwner: fieldOwner, Expectations: &execute.Expectations{}, Now: r.Clock.Now,
		Lagged: r.tallies.lagged,
	}
	r.puller = &prepull.Puller{Client: c, Events: publisher, FieldOwner: fieldOwner}
	options := inplace.Options{EnvFromMetadata: r.EnvFromMetadata, VerticalScaling: r.VerticalScaling}
	r.differs.plain = &inplace.Differ{Options: options}
	options.CompareClaimTemplates = r.RecreateOnClaimChange
	r.differs.strict = &inplace.Differ{Options: options}
	r.pace = newPace()
}

// Reconcile makes one pass over a CloneSet.
func (r *Reconciler) Reconcile(ctx context.Context, set *appsv1beta1.CloneSet) (reconcile.Result, error) {
	if set.DeletionTimestamp != nil {
		r.forget(set)
		return reconcile.Result{}, nil
	}
	if left := r.pacer.Left(set.UID, r.Clock.Now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	p := &pass{Reconciler: r, set: withDefaults(set), stored: set, began: r.Clock.Now()}
	defer p.end(ctx)
	return steps.Run(ctx,
		steps.Step{Name: "gather", Do: p.gather},
		steps.Step{Name: "claims", Do: p.tidyClaims},
		steps.Step{Name: "revision", Do: p.revision},
		steps.Step{Name: "execute", Do: p.execute},
		steps.Step{Name: "status", Do: p.status},
		steps.Step{Name: "pull ahead", Do: p.prepull},
		steps.Step{Name: "trim", Do: p.trimPodsToDelete},
		steps.Step{Name: "history", Do: p.truncate},
	)
}

// forget drops what is remembered of a set that goes, or is gone.
func (r *Reconciler) forget(set client.Object) {
	r.sent.forget(set.GetUID())
	r.executor.Expectations.Forget(set.GetUID())
	r.executor.DropSpares(set)
}

// end makes the set rest. One that is gone meanwhile was forgotten before the pass's last writes were noted: once more.
func (p *pass) end(ctx context.Context) {
	p.rest()
	var now appsv1beta1.CloneSet
	err := p.client.Get(ctx, client.ObjectKeyFromObject(p.set), &now, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) || err == nil && now.UID != p.set.UID {
		p.forget(p.set)
	}
}

// rest lets the set rest after a pass in proportion to what the pass thought, its requests left out.
func (p *pass) rest() {
	now := p.Clock.Now()
	thought := p.thought
	if thought == 0 { // it ended before anything was planned
		thought = now.Sub(p.began)
	}
	p.pacer.Rest(p.set.UID, thought, now)
}
