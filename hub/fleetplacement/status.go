// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

const (
	// maxDetailed is how many clusters status.clusters holds, maxMessage how long their messages are.
	maxDetailed = 50
	maxMessage  = 1024
	// maxCondition is how long a condition's message is.
	maxCondition = 4096
)

// summarize is what the target's divider makes the target's status from. It is pure.
func summarize(s *snapshot, d decision, out outcome, members []member) share.Summary {
	summary := share.Summary{
		Plan: d.plan, Observed: d.plan != nil, Now: metav1.NewTime(s.now),
		Conditions: []metav1.Condition{placedCondition(d, out), progressCondition(d, members), freshCondition(members)},
	}
	for _, m := range members {
		summary.Reports = append(summary.Reports, share.Report{Cluster: m.cluster, Counters: m.counters, Spread: m.spread})
		if !m.stale && !m.observed {
			summary.Observed = false
		}
	}
	for _, err := range out.failed {
		summary.Observed = summary.Observed && err == nil
	}
	return summary
}

// statusOf is the placement's new status. It is pure; lastTransitionTimes come from the old one.
func statusOf(s *snapshot, d decision, members []member, summary share.Summary) fleetv1alpha1.FleetPlacementStatus {
	status := *s.placement.Status.DeepCopy()
	status.ObservedGeneration = s.placement.Generation
	status.SelectedClusters = int32(len(d.chosen))
	status.AppliedClusters = 0
	total := summary.Total()
	status.Replicas, status.ReadyReplicas = total.Replicas, total.ReadyReplicas
	status.UpdatedReplicas, status.UpdatedReadyReplicas = total.UpdatedReplicas, total.UpdatedReadyReplicas
	for _, m := range members {
		if m.state == fleetv1alpha1.ClusterApplied {
			status.AppliedClusters++
		}
	}
	status.Clusters = details(members)
	for _, c := range append([]metav1.Condition{resolvedCondition(d)}, summary.Conditions...) {
		c.ObservedGeneration = s.placement.Generation
		c.LastTransitionTime = summary.Now
		conditions.Set(&status.Conditions, c)
	}
	return status
}

// details are the clusters in trouble, then the others, by name.
func details(members []member) []fleetv1alpha1.ClusterShareStatus {
	ordered := slices.Clone(members)
	slices.SortStableFunc(ordered, func(a, b member) int { return cmp.Compare(trouble(a), trouble(b)) })
	if len(ordered) > maxDetailed {
		ordered = ordered[:maxDetailed]
	}
	out := make([]fleetv1alpha1.ClusterShareStatus, 0, len(ordered))
	for _, m := range ordered {
		total := m.total()
		out = append(out, fleetv1alpha1.ClusterShareStatus{
			Name: m.cluster, State: m.state, Message: conditions.Cut(m.message, maxMessage), DesiredReplicas: m.desired,
			Replicas: total.Replicas, ReadyReplicas: total.ReadyReplicas,
			UpdatedReplicas: total.UpdatedReplicas, UpdatedReadyReplicas: total.UpdatedReadyReplicas,
		})
	}
	return out
}

func trouble(m member) int {
	if m.state == fleetv1alpha1.ClusterApplied {
		return 1
	}
	return 0
}

func resolvedCondition(d decision) metav1.Condition {
	if d.resolved == nil {
		return condition(fleetv1alpha1.ConditionResolved, metav1.ConditionTrue, fleetv1alpha1.ReasonResolved, "")
	}
	return condition(fleetv1alpha1.ConditionResolved, metav1.ConditionFalse, d.resolved.Reason, d.resolved.Message)
}

// placedCondition: every replica has a place and every slice is written.
func placedCondition(d decision, out outcome) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return condition(fleetv1alpha1.ConditionFleetPlaced, metav1.ConditionFalse, reason, message)
	}
	switch {
	case d.placed != nil:
		return no(d.placed.Reason, d.placed.Message)
	case len(d.chosen) == 0 && d.resolved != nil:
		return no(fleetv1alpha1.ReasonNoClusters, d.resolved.Message)
	case len(d.plan.Short) > 0:
		var parts []string
		for _, short := range d.plan.Short {
			parts = append(parts, short.String())
		}
		return no(fleetv1alpha1.ReasonInsufficientCapacity, strings.Join(parts, "; "))
	case len(out.failed) > 0:
		why := make(map[string]string, len(out.failed))
		for cluster, err := range out.failed {
			why[cluster] = err.Error()
		}
		return no(out.reason(), "not written: "+reasons(why))
	default:
		return condition(fleetv1alpha1.ConditionFleetPlaced, metav1.ConditionTrue, fleetv1alpha1.ReasonPlaced, strings.Join(d.plan.Notes, "; "))
	}
}

// progressCondition: some member has not observed, or not finished, the newest spec.
func progressCondition(d decision, members []member) metav1.Condition {
	in := map[fleetv1alpha1.ClusterState][]string{}
	var unfinished []string
	for _, m := range members {
		in[m.state] = append(in[m.state], m.cluster)
		if !m.finished {
			unfinished = append(unfinished, m.cluster)
		}
	}
	yes := func(reason, format string, names []string) metav1.Condition {
		return condition(fleetv1alpha1.ConditionFleetProgressing, metav1.ConditionTrue, reason, fmt.Sprintf(format, some(names)))
	}
	switch conflicts, failures, leaving := in[fleetv1alpha1.ClusterConflict], in[fleetv1alpha1.ClusterFailed], in[fleetv1alpha1.ClusterDeleting]; {
	case len(conflicts) > 0:
		return yes(fleetv1alpha1.ReasonConflict, "an object that is not ours stands in the way in %s", conflicts)
	case len(failures) > 0:
		return yes(fleetv1alpha1.ReasonApplyFailed, "the share could not be applied in %s", failures)
	case len(leaving) > 0:
		return yes(fleetv1alpha1.ReasonDeleting, "waiting for %s to take back what is there", leaving)
	case d.plan == nil:
		return condition(fleetv1alpha1.ConditionFleetProgressing, metav1.ConditionFalse, d.placed.Reason, d.placed.Message)
	case len(d.chosen) == 0 && d.resolved != nil:
		return condition(fleetv1alpha1.ConditionFleetProgressing, metav1.ConditionFalse, fleetv1alpha1.ReasonNoClusters, d.resolved.Message)
	case len(unfinished) > 0:
		return yes(fleetv1alpha1.ReasonRollingOut, "waiting for %s", unfinished)
	default:
		return condition(fleetv1alpha1.ConditionFleetProgressing, metav1.ConditionFalse, fleetv1alpha1.ReasonComplete, "")
	}
}

// freshCondition: every member reports.
func freshCondition(members []member) metav1.Condition {
	why := map[string]string{}
	for _, m := range members {
		if m.stale {
			why[m.cluster] = m.message
		}
	}
	if len(why) > 0 {
		return condition(fleetv1alpha1.ConditionFleetStatusFresh, metav1.ConditionFalse, fleetv1alpha1.ReasonStale, "counters are the last known of "+reasons(why))
	}
	return condition(fleetv1alpha1.ConditionFleetStatusFresh, metav1.ConditionTrue, fleetv1alpha1.ReasonFresh, "")
}

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: conditions.Cut(message, maxCondition)}
}

// turned tells whether a condition changed its status or reason, or a generation was observed: that is
// written at once.
func turned(old, now fleetv1alpha1.FleetPlacementStatus) bool {
	if old.ObservedGeneration != now.ObservedGeneration || len(old.Conditions) != len(now.Conditions) {
		return true
	}
	for _, c := range now.Conditions {
		before := conditions.Find(old.Conditions, c.Type)
		if before == nil || before.Status != c.Status || before.Reason != c.Reason {
			return true
		}
	}
	return false
}
