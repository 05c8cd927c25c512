// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// tolerates says whether taints leave a cluster selectable now, and until when
// it stays so (zero: as long as nothing else changes).
func tolerates(taints []clusterv1.Taint, tolerations []clusterv1beta1.Toleration, selected bool, now time.Time) (bool, time.Time) {
	var until time.Time
	for _, taint := range taints {
		if taint.Effect == clusterv1.TaintEffectPreferNoSelect {
			continue
		}
		if taint.Effect == clusterv1.TaintEffectNoSelectIfNew && selected {
			continue
		}
		ok, end := toleratesOne(taint, tolerations, now)
		if !ok {
			return false, time.Time{}
		}
		until = earliest(until, end)
	}
	return true, until
}

// toleratesOne goes by the toleration that lasts longest.
func toleratesOne(taint clusterv1.Taint, tolerations []clusterv1beta1.Toleration, now time.Time) (bool, time.Time) {
	var longest time.Time
	for _, t := range tolerations {
		if !applies(t, taint) {
			continue
		}
		if t.TolerationSeconds == nil || taint.Effect == clusterv1.TaintEffectNoSelectIfNew {
			return true, time.Time{}
		}
		end := taint.TimeAdded.Add(time.Duration(*t.TolerationSeconds) * time.Second)
		if end.After(longest) {
			longest = end
		}
	}
	return longest.After(now), longest
}

// applies says whether a toleration is about a taint. An empty key is about
// every taint, and only with the operator Exists; an empty effect is about every effect.
func applies(t clusterv1beta1.Toleration, taint clusterv1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == clusterv1beta1.TolerationOpExists {
		return t.Key == "" || t.Key == taint.Key
	}
	return t.Key == taint.Key && t.Value == taint.Value
}

// earliest treats the zero time as never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
