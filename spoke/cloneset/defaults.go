// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"math"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// withDefaults returns a copy of the set in which every field this package reads has a value. Its
// template stays as it is: another byte there is another revision.
func withDefaults(set *appsv1beta1.CloneSet) *appsv1beta1.CloneSet {
	out := set.DeepCopy()
	appsv1beta1.DefaultCloneSet(out, appsv1beta1.DefaultOptions{})
	return out
}

// deadlineSeconds returns progressDeadlineSeconds, false when there is no deadline.
func deadlineSeconds(set *appsv1beta1.CloneSet) (int32, bool) {
	d := set.Spec.ProgressDeadlineSeconds
	if d == nil || *d == math.MaxInt32 {
		return 0, false
	}
	return *d, true
}

// onDelete says whether pods get a new revision only when somebody deletes them.
func onDelete(set *appsv1beta1.CloneSet) bool {
	return set.Spec.UpdateStrategy.Type == appsv1beta1.CloneSetOnDeleteUpdateStrategyType ||
		set.Spec.UpdateStrategy.RollingUpdate == nil
}
