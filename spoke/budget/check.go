// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Budget is a PodUnavailableBudget.
type Budget = policyv1beta1.PodUnavailableBudget

// Request asks whether a pod may be made unavailable.
type Request struct {
	// Pod as it is, before the operation.
	Pod *corev1.Pod
	// Operation that is asked for.
	Operation policyv1beta1.PubOperation
	// Now is when it is asked for.
	Now time.Time
	// ResizeApart is gate InPlacePodVerticalScaling: a budget guards against resizes only where it says so.
	ResizeApart bool
}

// Answer is what becomes of a request.
type Answer int

// The answers.
const (
	// Allow: nothing has to be written.
	Allow Answer = iota
	// Reserve: it is allowed once the pod is in the books.
	Reserve
	// Deny: not now.
	Deny
)

// Verdict is an answer with its reason, which people read.
type Verdict struct {
	Answer Answer
	Reason string
}

const letThrough = "the pod was let through before"

func allow(reason string) Verdict { return Verdict{Allow, reason} }

// Check answers a request by the books of the budget that the pod is stamped with; nil when there is none.
func Check(r *Request, b *Budget) Verdict {
	if isTrue(r.Pod.Annotations, policyv1beta1.PodPubNoProtectKey) {
		return allow("the pod is taken out of protection")
	}
	available := IsAvailable(r.Pod)
	if !available && !(b != nil && guardsUnready(r, b)) {
		return allow("the pod is unavailable already")
	}
	if b == nil {
		return allow("no budget protects the pod")
	}
	if why := unconcerned(r, b); why != "" {
		return allow(why)
	}
	if at, booked := bookedAt(&b.Status, r.Pod); booked {
		if r.Now.Sub(at) < trusted {
			return allow(letThrough)
		}
		return Verdict{Reserve, letThrough}
	}
	return quota(b, available)
}

// unconcerned says why a budget that protects the pod does not mind the operation; empty when it does.
func unconcerned(r *Request, b *Budget) string {
	switch {
	case ignores(b, r.Pod):
		return "the budget ignores the pod"
	case b.Status.DesiredAvailable == 0:
		return "no pod has to stay available"
	case !protects(b, r.Operation, r.ResizeApart):
		return fmt.Sprintf("the budget does not protect against %s", r.Operation)
	}
	return ""
}

func quota(b *Budget, available bool) Verdict {
	s := &b.Status
	switch {
	case !available && s.CurrentAvailable >= s.DesiredAvailable:
		return allow("the pod is unavailable already, and enough others are available")
	case !available:
		return Verdict{Deny, fmt.Sprintf("%d of %d pods are available, %d have to be: unavailable ones are kept as well", s.CurrentAvailable, s.TotalReplicas, s.DesiredAvailable)}
	case s.UnavailableAllowed <= 0:
		return Verdict{Deny, fmt.Sprintf("no more pods may be unavailable: %d of %d are available, %d have to be", s.CurrentAvailable, s.TotalReplicas, s.DesiredAvailable)}
	case len(s.DisruptedPods)+len(s.UnavailablePods) > policyv1beta1.PubMaxBookedPods:
		return Verdict{Deny, fmt.Sprintf("more than %d pods are on their way", policyv1beta1.PubMaxBookedPods)}
	}
	return Verdict{Reserve, "within the budget"}
}

// guardsUnready says whether the budget wants pods kept that are not available, and this is one that would go.
func guardsUnready(r *Request, b *Budget) bool {
	goes := r.Operation == policyv1beta1.PubDeleteOperation || r.Operation == policyv1beta1.PubEvictOperation
	return goes && pods.IsActive(r.Pod) && isTrue(b.Annotations, policyv1beta1.PodUnavailableBudgetProtectUnreadyKey)
}

func ignores(b *Budget, pod *corev1.Pod) bool {
	if b.Spec.IgnoredPodSelector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.IgnoredPodSelector)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels))
}

// protects says whether the budget guards against an operation. What its spec does not say, the annotation of older
// versions may.
func protects(b *Budget, operation policyv1beta1.PubOperation, resizeApart bool) bool {
	guarded := b.Spec.ProtectOperations
	if len(guarded) == 0 {
		guarded, _ = policyv1beta1.ProtectOperationsOf(b.Annotations[policyv1beta1.PodUnavailableBudgetProtectOperationsKey])
	}
	if len(guarded) == 0 && b.Annotations[policyv1beta1.PodUnavailableBudgetProtectOperationsKey] == "" {
		guarded = []policyv1beta1.PubOperation{policyv1beta1.PubDeleteOperation, policyv1beta1.PubUpdateOperation, policyv1beta1.PubEvictOperation}
	}
	if slices.Contains(guarded, operation) {
		return true
	}
	return operation == policyv1beta1.PubResizeOperation && !resizeApart && slices.Contains(guarded, policyv1beta1.PubUpdateOperation)
}
