// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/protectionlog"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/podadmission"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// garbageCollector deletes what nobody owns any more, and what goes with its owner. It knows the owners of all kinds.
const garbageCollector = "system:serviceaccount:kube-system:generic-garbage-collector"

// ourUser is who asks where our own workloads do, in metrics and log.
const ourUser = "kruise-manager"

const (
	// repeated is how long the same refusal of a pod to one of our own workloads, which ask each second, is not told again.
	repeated = 2 * time.Minute
	// remembered bounds how many refusals are told apart.
	remembered = 4096
)

// Stamp is the step of pod admission that names the budget on a new pod.
type Stamp struct{ find *finder }

// NewStamp reads from the manager's cache.
func NewStamp(mgr manager.Manager) Stamp {
	return Stamp{&finder{seen: mgr.GetCache(), live: mgr.GetAPIReader()}}
}

// Name of the step.
func (Stamp) Name() string { return "budget" }

// Mutate stamps the pod. Where its budget cannot be found out it goes without: the controller stamps it later.
func (s Stamp) Mutate(ctx context.Context, pod *corev1.Pod) (bool, error) {
	name, err := s.find.ofPod(ctx, pod)
	if err != nil {
		log.FromContext(ctx).Error(err, "looking for the budget of a new pod", "namespace", pod.Namespace, "pod", pod.Name+pod.GenerateName)
	}
	if name == "" {
		return false, nil
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[policyv1beta1.PodRelatedPubKey], pod.Annotations[policyv1beta1.PodRelatedPubKeyOld] = name, name
	return true, nil
}

// Guard is the step of pod admission that asks the budget of a pod.
type Guard struct {
	// Ledger keeps the books.
	Ledger *ledger.Ledger
	// Updates and Deletions are the gates: what is guarded. Evictions count as deletions.
	Updates, Deletions bool
	// Log of what is refused; nil for none.
	Log *protectionlog.Log

	live   client.Reader
	scales *workload.Finder
	events events.Publisher
	tally  *tally
	told   *cache.LRUExpireCache
}

// NewGuard is a Guard for the manager's cluster, whose refusals count in metric pod_unavailable_budget. Make one for a
// process.
func NewGuard(mgr manager.Manager, books *ledger.Ledger) (*Guard, error) {
	tally, err := newTally()
	return &Guard{
		Ledger: books, live: mgr.GetAPIReader(), scales: &workload.Finder{Seen: mgr.GetCache(), Live: mgr.GetClient()},
		events: events.New(mgr.GetEventRecorder("pub-controller")), tally: tally,
		told: cache.NewLRUExpireCache(remembered),
	}, err
}

// Name of the step.
func (*Guard) Name() string { return "PodUnavailableBudget" }

// Validate asks the budget of the pod.
func (g *Guard) Validate(ctx context.Context, review *podadmission.Review) error {
	operation := g.operation(review)
	if operation == "" {
		return nil
	}
	answer, err := g.Ledger.Ask(ctx, ledger.Question{Pod: review.Pod, Operation: operation, DryRun: review.DryRun})
	if err != nil || answer.Allowed {
		return err
	}
	if operation == policyv1beta1.PubDeleteOperation && (review.User == garbageCollector || g.abandoned(ctx, review.Pod)) {
		return nil
	}
	if !review.DryRun {
		g.tell(ctx, review.Pod, review.User, &answer)
	}
	return &podadmission.Denial{Reason: answer.Reason}
}

// operation is what a request is to the budget; empty when it is of no concern.
func (g *Guard) operation(review *podadmission.Review) policyv1beta1.PubOperation {
	switch review.Operation {
	case podadmission.Update:
		if g.Updates && budget.NameOf(review.Updated) != "" {
			return budget.Classify(review.Pod, review.Updated)
		}
	case podadmission.Delete:
		if g.Deletions {
			return policyv1beta1.PubDeleteOperation
		}
	case podadmission.Evict:
		if g.Deletions {
			return policyv1beta1.PubEvictOperation
		}
	}
	return ""
}

// MayUpdate asks for one of our own workloads whether it may update a pod now; a text says why not. When it may, the
// pod is in the books, and the update itself passes admission at no further cost. A refusal that stays the same is told
// and counted once in two minutes, however often a workload asks.
func (g *Guard) MayUpdate(ctx context.Context, pod *corev1.Pod) (refusal string, err error) {
	answer, err := g.Ledger.Ask(ctx, ledger.Question{Pod: pod, Operation: policyv1beta1.PubUpdateOperation})
	if err != nil || answer.Allowed {
		return "", err
	}
	key := string(pod.UID) + " " + answer.Reason
	if _, told := g.told.Get(key); !told {
		g.told.Add(key, true, repeated)
		g.tell(ctx, pod, ourUser, &answer)
	}
	return answer.Reason, nil
}

// tell makes a refusal known.
func (g *Guard) tell(ctx context.Context, pod *corev1.Pod, user string, answer *ledger.Answer) {
	g.events.Publish(prevented(pod, answer.Reason))
	if !answer.Spent {
		return
	}
	kind, name := "unknown", pod.Name
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		kind, name = owner.Kind, owner.Name
	}
	g.tally.refused(kind, pod.Namespace, name, user)
	err := g.Log.Write(protectionlog.Entry{Event: protectionlog.PodUnavailableBudget, Kind: kind, Namespace: pod.Namespace, Name: name, UserAgent: user})
	if err != nil {
		log.FromContext(ctx).Error(err, "writing the protection log")
	}
}

// abandoned says whether nobody wants the pod any more: its controller or its namespace is gone, or going. Where that
// cannot be found out, it is wanted.
func (g *Guard) abandoned(ctx context.Context, pod *corev1.Pod) bool {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := g.live.Get(ctx, client.ObjectKey{Name: pod.Namespace}, namespace)
	if apierrors.IsNotFound(err) || err == nil && namespace.DeletionTimestamp != nil {
		return true
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return false
	}
	owner := &metav1.PartialObjectMetadata{}
	owner.APIVersion, owner.Kind = ref.APIVersion, ref.Kind
	err = g.live.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}, owner)
	switch {
	case err == nil:
		return owner.UID != ref.UID || owner.DeletionTimestamp != nil
	case apierrors.IsForbidden(err): // a kind of somebody else's
		scale, err := g.scales.Scale(ctx, workload.RefOf(pod.Namespace, ref))
		return err == nil && scale == nil
	default:
		return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
	}
}
