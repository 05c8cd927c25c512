// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// causes are the ways to fail, in the order of the conditions.
var causes = []v1beta1.ResourceDistributionConditionType{
	v1beta1.ResourceDistributionGetResourceFailed, v1beta1.ResourceDistributionCreateResourceFailed,
	v1beta1.ResourceDistributionUpdateResourceFailed, v1beta1.ResourceDistributionDeleteResourceFailed,
	v1beta1.ResourceDistributionConflictOccurred, v1beta1.ResourceDistributionNamespaceNotExists,
}

// mostText bounds the reason of a condition, in bytes.
const mostText = 1024

// failure is why a namespace is not as it should be. Of what is wrong everywhere there is one without a namespace.
type failure struct {
	namespace string
	*problem
}

// statusOf is the status after a pass. The targets are in order. A transition's time is that of the old status while the condition stays.
func statusOf(rd *v1beta1.ResourceDistribution, targets []string, failures []failure, now metav1.Time) v1beta1.ResourceDistributionStatus {
	failed := 0
	for _, f := range failures {
		if _, target := slices.BinarySearch(targets, f.namespace); target {
			failed++
		}
	}
	out := v1beta1.ResourceDistributionStatus{
		Desired: int32(len(targets)), Succeeded: int32(len(targets) - failed), Failed: int32(failed), //nolint:gosec // as many as there are namespaces
		ObservedGeneration: rd.Generation,
	}
	for _, cause := range causes {
		out.Conditions = append(out.Conditions, conditionOf(cause, failures, rd.Status.Conditions, now))
	}
	return out
}

func conditionOf(cause v1beta1.ResourceDistributionConditionType, failures []failure, old []v1beta1.ResourceDistributionCondition, now metav1.Time) v1beta1.ResourceDistributionCondition {
	out := v1beta1.ResourceDistributionCondition{Type: cause, Status: corev1.ConditionFalse, Reason: v1beta1.ResourceDistributionReasonSucceeded, LastTransitionTime: now}
	for _, f := range failures {
		if f.cause == cause {
			out.Status, out.Reason = corev1.ConditionTrue, conditions.Cut(f.Error(), mostText)
			if f.namespace != "" {
				out.FailedNamespaces = append(out.FailedNamespaces, f.namespace)
			}
		}
	}
	slices.Sort(out.FailedNamespaces)
	if i := slices.IndexFunc(old, func(c v1beta1.ResourceDistributionCondition) bool { return c.Type == cause }); i >= 0 && old[i].Status == out.Status {
		out.LastTransitionTime = old[i].LastTransitionTime
	}
	return out
}

// differs tells whether a status is to be written.
func differs(a, b *v1beta1.ResourceDistributionStatus) bool {
	return !equality.Semantic.DeepEqual(a, b)
}

// failing are the causes that hold now, and did not before or not for the same namespaces.
func failing(before, now []v1beta1.ResourceDistributionCondition) []v1beta1.ResourceDistributionCondition {
	was := map[v1beta1.ResourceDistributionConditionType][]string{}
	for i := range before {
		if before[i].Status == corev1.ConditionTrue {
			was[before[i].Type] = append([]string{}, before[i].FailedNamespaces...)
		}
	}
	var out []v1beta1.ResourceDistributionCondition
	for i := range now {
		if old, held := was[now[i].Type]; now[i].Status == corev1.ConditionTrue && (!held || !slices.Equal(old, now[i].FailedNamespaces)) {
			out = append(out, now[i])
		}
	}
	return out
}
