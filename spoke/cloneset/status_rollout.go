// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// forward says whether the set came nearer to what it was asked for, or was asked for something else.
func forward(before, after *appsv1beta1.CloneSetStatus, replicas int) bool {
	missing := func(s *appsv1beta1.CloneSetStatus) int {
		return max(int(s.Replicas)-replicas, replicas-int(s.Replicas))
	}
	return before.UpdateRevision != after.UpdateRevision || missing(after) < missing(before) ||
		after.UpdatedReplicas > before.UpdatedReplicas || after.UpdatedAvailableReplicas > before.UpdatedAvailableReplicas ||
		after.AvailableReplicas > before.AvailableReplicas
}

// setPartitionReached keeps the time at which a partition was reached: condition Waiting forgets it with every pod that
// has to be waited for in between. The message names partition and revision, and with either the time is another.
func setPartitionReached(status *appsv1beta1.CloneSetStatus, f *facts) {
	const kind = appsv1beta1.CloneSetConditionPartitionReached
	rolling := f.set.Spec.UpdateStrategy.RollingUpdate
	if onDelete(f.set) || rolling.Partition == nil || f.budget.Partition == 0 || status.CurrentRevision == status.UpdateRevision {
		conditions.RemoveCompat(&status.Conditions, kind)
		return
	}
	reached := appsv1beta1.Condition{
		Type: kind, Status: corev1.ConditionTrue, Reason: "Partition",
		Message: fmt.Sprintf("partition %s is reached for revision %s", rolling.Partition, status.UpdateRevision),
	}
	if have := conditions.FindCompat(status.Conditions, kind); have != nil && have.Message == reached.Message {
		return
	}
	conditions.RemoveCompat(&status.Conditions, kind)
	if status.UpdatedAvailableReplicas >= status.ExpectedUpdatedReplicas {
		conditions.SetCompat(&status.Conditions, reached, metav1.NewTime(f.now))
	}
}
