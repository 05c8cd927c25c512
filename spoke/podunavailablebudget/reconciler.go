// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

const (
	controllerName = "podunavailablebudget-controller"
	// countAgain is how soon workloads are asked again that could not be asked.
	countAgain = 15 * time.Second
)

// FieldOwner of the stamps on pods and of the books.
const FieldOwner client.FieldOwner = "spoke-podunavailablebudget"

// +kubebuilder:rbac:groups=policy.kruise.io,resources=podunavailablebudgets,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy.kruise.io,resources=podunavailablebudgets/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments;replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps;apps.kruise.io,resources=statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=*,resources=*/scale,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch;update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch;update

// Reconciler runs PodUnavailableBudgets.
type Reconciler struct {
	client client.Client
	find   *finder
	scales *workload.Finder
	ledger *ledger.Ledger
	events events.Publisher
}

// NewLedger makes the books' keeper of a process. It reads from the manager's cache, without waiting for writes to
// show there: it remembers its own.
func NewLedger(mgr manager.Manager, resizeApart bool) *ledger.Ledger {
	return &ledger.Ledger{
		Seen: mgr.GetCache(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient().Status(), FieldOwner: FieldOwner,
		Clock: clock.RealClock{}, ResizeApart: resizeApart,
	}
}

// Add adds the controller to the manager. The cache must have index ownership.ControllerUIDIndex on Pods, and those
// of workload.AddIndexes.
func Add(ctx context.Context, mgr manager.Manager, books *ledger.Ledger) error {
	r := &Reconciler{
		client: mgr.GetClient(), ledger: books, find: &finder{seen: mgr.GetCache(), live: mgr.GetAPIReader()},
		scales: &workload.Finder{Seen: mgr.GetCache(), Live: mgr.GetClient()}, events: events.New(mgr.GetEventRecorder(controllerName)),
	}
	if err := forget(ctx, mgr, books); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named(controllerName).
		For(&budget.Budget{}).
		Watches(&corev1.Pod{}, &podHandler{r.find, books})
	for _, kind := range workload.Counted() {
		b = b.Watches(kind, r.ofWorkload(mgr.GetScheme()))
	}
	return b.Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// forget has the ledger forget budgets that are gone, also in replicas that do not act: they answer admission.
func forget(ctx context.Context, mgr manager.Manager, books *ledger.Ledger) error {
	informer, err := mgr.GetCache().GetInformer(ctx, &budget.Budget{})
	if err != nil {
		return fmt.Errorf("informer of budgets: %w", err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = last.Obj
		}
		if b, ok := obj.(*budget.Budget); ok {
			books.Forget(b.UID)
		}
	}})
	return err
}

// Reconcile makes one pass over a budget.
func (r *Reconciler) Reconcile(ctx context.Context, b *budget.Budget) (reconcile.Result, error) {
	if b.DeletionTimestamp != nil {
		r.ledger.Forget(b.UID)
		return reconcile.Result{}, nil
	}
	seen, err := r.gather(ctx, b)
	if err != nil {
		r.events.Publish(notCounted(b, err))
		return reconcile.Result{}, err
	}
	if seen.uncounted != nil {
		log.FromContext(ctx).Error(seen.uncounted, "counting the pods that there should be; going on with what is known")
		r.events.Publish(notCounted(b, seen.uncounted))
	}
	if len(seen.pods) == 0 {
		r.events.Publish(noPods(b))
	}
	stamped := r.stamp(ctx, b, seen.pods)
	count, err := r.ledger.Settle(ctx, b, seen.pods, seen.expected)
	var limit *ledger.LimitError
	if errors.As(err, &limit) {
		r.events.Publish(notCounted(b, err))
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	for _, pod := range count.NotDeleted {
		r.events.Publish(notDeleted(pod, b))
	}
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictRetry}, stamped
	}
	return reconcile.Result{RequeueAfter: recheck(count.Recheck, seen.uncounted)}, errors.Join(stamped, client.IgnoreNotFound(err))
}

// recheck is when to look again: when the books want it, which 0 says they do not, and soon while not all is counted.
func recheck(books time.Duration, uncounted error) time.Duration {
	if uncounted == nil || books > 0 && books < countAgain {
		return books
	}
	return countAgain
}
