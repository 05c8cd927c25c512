// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// maxDecisions is how many clusters one PlacementDecision may hold.
const maxDecisions = 100

// decision is one PlacementDecision as it shall be.
type decision struct {
	name      string
	labels    map[string]string
	decisions []clusterv1beta1.ClusterDecision
	group     int
}

// decisionsOf lays the groups of a plan out as PlacementDecisions.
func decisionsOf(placement string, groups []Group) []decision {
	var out []decision
	for index, group := range groups {
		chunks := slices.Collect(slices.Chunk(group.Clusters, maxDecisions))
		if len(chunks) == 0 {
			chunks = [][]string{nil}
		}
		for _, chunk := range chunks {
			d := decision{name: fmt.Sprintf("%s-decision-%d", placement, len(out)+1), group: index}
			d.labels = map[string]string{
				clusterv1beta1.PlacementLabel:          placement,
				clusterv1beta1.DecisionGroupNameLabel:  group.Name,
				clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(index),
			}
			d.decisions = make([]clusterv1beta1.ClusterDecision, 0, len(chunk))
			for _, cluster := range chunk {
				d.decisions = append(d.decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
			}
			out = append(out, d)
		}
	}
	return out
}

// statusOf gives the Placement's status after a plan; now stamps conditions that change.
func statusOf(p *clusterv1beta1.Placement, plan Plan, decisions []decision, now time.Time) clusterv1beta1.PlacementStatus {
	status := *p.Status.DeepCopy()
	status.NumberOfSelectedClusters = int32(plan.NumberOfClusters())
	status.DecisionGroups = make([]clusterv1beta1.DecisionGroupStatus, len(plan.Groups))
	for i, group := range plan.Groups {
		status.DecisionGroups[i] = clusterv1beta1.DecisionGroupStatus{
			DecisionGroupIndex: int32(i),
			DecisionGroupName:  group.Name,
			ClustersCount:      int32(len(group.Clusters)),
		}
	}
	for _, d := range decisions {
		names := &status.DecisionGroups[d.group].Decisions
		*names = append(*names, d.name)
	}
	meta.SetStatusCondition(&status.Conditions,
		plan.Misconfigured.condition(clusterv1beta1.PlacementConditionMisconfigured, p.Generation, now))
	meta.SetStatusCondition(&status.Conditions,
		plan.Satisfied.condition(clusterv1beta1.PlacementConditionSatisfied, p.Generation, now))
	return status
}

func (v Verdict) condition(kind string, generation int64, now time.Time) metav1.Condition {
	status := metav1.ConditionFalse
	if v.True {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: kind, Status: status, Reason: v.Reason, Message: v.Message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	}
}
