// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// DefaultDaemonSet fills the fields of a DaemonSet that say nothing, and writes the deprecated type Surging
// as what it is: Standard with a surge.
func DefaultDaemonSet(obj *DaemonSet) {
	if rolling := obj.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Type == SurgingRollingUpdateType {
		rolling.Type = v1beta1.StandardRollingUpdateType
		point(&rolling.MaxSurge, intstr.FromInt32(1))
		point(&rolling.MaxUnavailable, intstr.FromInt32(0))
	}
	point(&obj.Spec.RevisionHistoryLimit, v1beta1.DefaultRevisionHistoryLimit)
	point(&obj.Spec.BurstReplicas, intstr.FromInt32(v1beta1.DefaultDaemonSetBurstReplicas))
	v1beta1.DefaultDaemonSetUpdateStrategy(&obj.Spec.UpdateStrategy)
}
