// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// failuresTolerated is how many checks in a row must fail before a member counts as unavailable.
const failuresTolerated = 2

// Reasons of the conditions an agent writes; the words are OCM's.
const (
	ReasonJoined      = "ManagedClusterJoined"
	ReasonAvailable   = "ManagedClusterAvailable"
	ReasonUnavailable = "ManagedClusterKubeAPIServerUnavailable"
)

// statusOf is what a ManagedCluster's status becomes after an observation, the
// last of that many failed checks in a row. A check that failed for the first
// time changes nothing.
func statusOf(old clusterv1.ManagedClusterStatus, o observation, failures int, now time.Time) clusterv1.ManagedClusterStatus {
	status := *old.DeepCopy()
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now),
		})
	}
	set(clusterv1.ManagedClusterConditionJoined, metav1.ConditionTrue, ReasonJoined, "the agent has joined the hub")
	switch {
	case o.answered:
		set(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue, ReasonAvailable, "the API server is ready")
	case failures >= failuresTolerated:
		set(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionFalse, ReasonUnavailable, "the API server is not ready")
	}
	if o.facts != nil {
		status.Version.Kubernetes = o.facts.version
		status.Capacity, status.Allocatable = sumNodes(o.facts.nodes)
		status.ClusterClaims = exposed(o.facts.claims)
	}
	return status
}
