// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

// leaseDuration is how often the agent of a cluster renews its lease.
func leaseDuration(cluster *clusterv1.ManagedCluster) time.Duration {
	if cluster.Spec.LeaseDurationSeconds <= 0 {
		return identity.DefaultLeaseSeconds * time.Second
	}
	return time.Duration(cluster.Spec.LeaseDurationSeconds) * time.Second
}

// expired gives the condition of a cluster whose agent has last been heard of
// at lastSeen, or nil while that is recent enough to leave the agent's word standing.
func expired(cluster *clusterv1.ManagedCluster, lastSeen, now time.Time) *metav1.Condition {
	grace := identity.GraceFactor * leaseDuration(cluster)
	if now.Sub(lastSeen) < grace {
		return nil
	}
	return &metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown, Reason: ReasonLeaseStopped,
		Message:            fmt.Sprintf("the agent has not renewed its lease for %s", grace),
		LastTransitionTime: metav1.NewTime(now),
	}
}

// taintsFor gives the taints of a cluster whose Available condition is as
// given: at most one of the two health taints, its time kept if it was there
// before, and a time on every taint.
func taintsFor(taints []clusterv1.Taint, conditions []metav1.Condition, now time.Time) []clusterv1.Taint {
	wanted, added := healthTaint(conditions), metav1.NewTime(now.Truncate(time.Second))
	var out []clusterv1.Taint
	found := false
	for _, t := range taints {
		if isHealthTaint(t.Key) && t.Key != wanted {
			continue
		}
		found = found || t.Key == wanted
		if t.TimeAdded.IsZero() {
			t.TimeAdded = added
		}
		out = append(out, t)
	}
	if wanted != "" && !found {
		out = append(out, clusterv1.Taint{Key: wanted, Effect: clusterv1.TaintEffectNoSelect, TimeAdded: added})
	}
	return out
}

func isHealthTaint(key string) bool {
	return key == clusterv1.ManagedClusterTaintUnavailable || key == clusterv1.ManagedClusterTaintUnreachable
}

func healthTaint(conditions []metav1.Condition) string {
	available := meta.FindStatusCondition(conditions, clusterv1.ManagedClusterConditionAvailable)
	switch {
	case available == nil || available.Status == metav1.ConditionUnknown:
		return clusterv1.ManagedClusterTaintUnreachable
	case available.Status == metav1.ConditionFalse:
		return clusterv1.ManagedClusterTaintUnavailable
	default:
		return ""
	}
}

// contacts remembers, for each cluster, since when this process has been able
// to read its lease without a gap. It is used by one worker at a time.
type contacts map[string]contact

type contact struct{ since, last time.Time }

// record notes a read at now and says since when reads have come at least every gap.
func (c contacts) record(cluster string, now time.Time, gap time.Duration) time.Time {
	entry, found := c[cluster]
	if !found || now.Sub(entry.last) > gap {
		entry.since = now
	}
	entry.last = now
	c[cluster] = entry
	return entry.since
}
