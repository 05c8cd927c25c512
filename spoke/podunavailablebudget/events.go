// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	corev1 "k8s.io/api/core/v1"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

func noPods(b *budget.Budget) events.Event {
	return events.Normal(b, policyv1beta1.PubEventNoPods, "Reconcile", "no active pod is protected by this budget")
}

func notCounted(b *budget.Budget, err error) events.Event {
	return events.Warning(b, policyv1beta1.PubEventCalculateExpectedPodCountFailed, "Reconcile", "the pods cannot be counted: "+err.Error())
}

func notDeleted(pod *corev1.Pod, b *budget.Budget) events.Event {
	return events.Warning(pod, policyv1beta1.PubEventNotDeleted, "Reconcile", "budget "+b.Name+" let the pod go, and it is still there")
}

func prevented(pod *corev1.Pod, why string) events.Event {
	return events.Warning(pod, policyv1beta1.PubEventPreventPodDeletion, "Protect", why)
}
