// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// withDefaults returns a copy of the set in which every field this package reads has a value.
func withDefaults(set *appsv1beta1.CloneSet) *appsv1beta1.CloneSet {
	out := set.DeepCopy()
	spec := &out.Spec
	if spec.Replicas == nil {
		spec.Replicas = ptr.To[int32](1)
	}
	if spec.RevisionHistoryLimit == nil {
		spec.RevisionHistoryLimit = ptr.To[int32](10)
	}
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = appsv1beta1.CloneSetRollingUpdateStrategyType
	}
	if spec.UpdateStrategy.Type != appsv1beta1.CloneSetRollingUpdateStrategyType {
		return out
	}
	if spec.UpdateStrategy.RollingUpdate == nil {
		spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{}
	}
	rolling := spec.UpdateStrategy.RollingUpdate
	if rolling.MaxUnavailable == nil {
		rolling.MaxUnavailable = ptr.To(intstr.FromString(appsv1beta1.DefaultCloneSetMaxUnavailable))
	}
	if rolling.PodUpdatePolicy == "" {
		rolling.PodUpdatePolicy = appsv1beta1.RecreatePodUpdateStrategyType
	}
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
