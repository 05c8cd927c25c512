// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/util/intstr"

// DefaultDaemonSet fills the fields of a DaemonSet that say nothing. Its template is never filled: another
// byte in it would be another revision, and OpenKruise stores it as it is sent.
func DefaultDaemonSet(obj *DaemonSet) {
	point(&obj.Spec.RevisionHistoryLimit, DefaultRevisionHistoryLimit)
	point(&obj.Spec.BurstReplicas, intstr.FromInt32(DefaultDaemonSetBurstReplicas))
	DefaultDaemonSetUpdateStrategy(&obj.Spec.UpdateStrategy)
}

// DefaultDaemonSetUpdateStrategy fills the update strategy, which all versions share. One of maxUnavailable
// and maxSurge that is set alone stays alone: the other counts as 0 then.
func DefaultDaemonSetUpdateStrategy(strategy *DaemonSetUpdateStrategy) {
	if strategy.Type == "" {
		strategy.Type = RollingUpdateDaemonSetStrategyType
	}
	if strategy.Type != RollingUpdateDaemonSetStrategyType {
		return
	}
	point(&strategy.RollingUpdate, RollingUpdateDaemonSet{})
	rolling := strategy.RollingUpdate
	if rolling.Type == "" {
		rolling.Type = StandardRollingUpdateType
	}
	if rolling.MaxUnavailable == nil && rolling.MaxSurge == nil {
		point(&rolling.MaxUnavailable, intstr.FromInt32(DefaultDaemonSetMaxUnavailable))
		point(&rolling.MaxSurge, intstr.FromInt32(0))
	}
}
