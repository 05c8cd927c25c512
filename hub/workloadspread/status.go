// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// maxMessage bounds the message of a subset's condition, in bytes.
const maxMessage = 1024

// Companion is the hub's WorkloadSpread and its status: the counters of a subset are sums of what the
// members' WorkloadSpreads say, and condition FleetPlaced of a subset says what became of it. In a member
// without a WorkloadSpread of its own the workload's replicas count in the order of the subsets.
func (d Divider) Companion(s share.Summary) (*unstructured.Unstructured, map[string]any, error) {
	status := appsv1beta1.WorkloadSpreadStatus{}
	raw, _, err := unstructured.NestedMap(d.Spread.Object, "status")
	if err == nil && raw != nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the status of WorkloadSpread %s: %w", d.Spread.GetName(), err)
	}
	if s.Observed {
		status.ObservedGeneration = d.Spread.GetGeneration()
	}
	status.SubsetStatuses = d.rows(status.SubsetStatuses, s)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	return d.Spread, fields, err
}

// rows are the statuses of the subsets, in their order. Without a plan, the numbers stay as they were while
// some member reports.
func (d Divider) rows(before []appsv1beta1.WorkloadSpreadSubsetStatus, s share.Summary) (out []appsv1beta1.WorkloadSpreadSubsetStatus) {
	old := make(map[string]appsv1beta1.WorkloadSpreadSubsetStatus, len(before))
	for _, one := range before {
		old[one.Name] = one
	}
	add := func(name string, count func(*appsv1beta1.WorkloadSpreadSubsetStatus), c metav1.Condition) {
		row := old[name]
		row.Name = name
		count(&row)
		c.ObservedGeneration, c.LastTransitionTime = d.Spread.GetGeneration(), s.Now
		c.Message = conditions.Cut(c.Message, maxMessage)
		conditions.Set(&row.Conditions, c)
		out = append(out, row)
	}
	if s.Plan != nil && s.Plan.Spread != nil {
		counted := countersOf(s)
		for i := range s.Plan.Spread.Subsets {
			planned := &s.Plan.Spread.Subsets[i]
			add(planned.Name, counted.into(planned), placed(planned, s.Conditions))
		}
		return out
	}
	spec, err := specOf(d.Spread)
	if err != nil {
		return before // nobody knows its subsets
	}
	for i := range spec.Subsets {
		add(spec.Subsets[i].Name, func(row *appsv1beta1.WorkloadSpreadSubsetStatus) {
			if len(s.Reports) == 0 {
				row.Replicas, row.MissingReplicas = 0, boundOf(spec.Subsets[i].MaxReplicas)
			}
		}, *conditions.Find(s.Conditions, fleetv1alpha1.ConditionFleetPlaced))
	}
	return out
}

// boundOf is what a subset takes when there is no workload: percentages are of nothing.
func boundOf(most *intstr.IntOrString) int32 {
	switch {
	case most == nil:
		return -1
	case most.Type == intstr.Int:
		return most.IntVal
	default:
		return 0
	}
}

// placed is condition FleetPlaced of a subset: that of the whole when that is about more than room.
func placed(row *share.SpreadSubset, whole []metav1.Condition) metav1.Condition {
	all := conditions.Find(whole, fleetv1alpha1.ConditionFleetPlaced)
	short := all.Reason == fleetv1alpha1.ReasonInsufficientCapacity
	out := metav1.Condition{Type: fleetv1alpha1.ConditionFleetPlaced, Status: metav1.ConditionFalse}
	switch {
	case all.Status != metav1.ConditionTrue && !short:
		out.Reason, out.Message = all.Reason, all.Message
	case row.Passed == 0:
		out.Status, out.Reason = metav1.ConditionTrue, fleetv1alpha1.ReasonPlaced
	case short:
		out.Reason, out.Message = all.Reason, fmt.Sprintf("%d replicas are not in this subset: %s", row.Passed, row.Why)
	default:
		out.Reason, out.Message = fleetv1alpha1.ReasonSpilled, fmt.Sprintf("%d replicas went on to later subsets: %s", row.Passed, row.Why)
	}
	return out
}

// counters are those of each cluster, by subset.
type counters map[string]map[string]fleetv1alpha1.SpreadCounters

// countersOf reads what the members report. A member that has a WorkloadSpread and has yet to say
// anything of it has no counters.
func countersOf(s share.Summary) counters {
	out := counters{}
	for _, report := range s.Reports {
		of := map[string]fleetv1alpha1.SpreadCounters{}
		for _, c := range report.Spread {
			of[c.Subset] = c
		}
		if len(report.Spread) == 0 && !s.Plan.Spread.Copied[report.Cluster] {
			of = inOrder(s.Plan.Spread.Subsets, report)
		}
		out[report.Cluster] = of
	}
	return out
}

// inOrder gives the replicas of a member without a WorkloadSpread to the subsets: each its share, and what
// is left over as far as the bounds go.
func inOrder(subsets []share.SpreadSubset, report share.Report) map[string]fleetv1alpha1.SpreadCounters {
	out := map[string]fleetv1alpha1.SpreadCounters{}
	rest := report.Total().Replicas
	give := func(row *share.SpreadSubset, upTo int32) {
		c := out[row.Name]
		n := max(min(rest, upTo-c.Replicas), 0)
		c.Replicas += n
		rest -= n
		out[row.Name] = c
	}
	for i := range subsets {
		if n, matches := subsets[i].Shares[report.Cluster]; matches {
			give(&subsets[i], n)
		}
	}
	for i := range subsets {
		if _, matches := subsets[i].Shares[report.Cluster]; !matches {
			continue
		}
		bound, bounded := subsets[i].Bounds[report.Cluster]
		if !bounded {
			bound = int32(maxInt32)
		}
		give(&subsets[i], bound)
	}
	for i := range subsets {
		c := out[subsets[i].Name]
		c.MissingReplicas = max(subsets[i].Bounds[report.Cluster]-c.Replicas, 0)
		out[subsets[i].Name] = c
	}
	return out
}

// into sums the counters of one subset up. What no cluster has of the subset's bound is missing too.
func (c counters) into(row *share.SpreadSubset) func(*appsv1beta1.WorkloadSpreadSubsetStatus) {
	return func(status *appsv1beta1.WorkloadSpreadSubsetStatus) {
		status.Replicas, status.MissingReplicas = 0, 0
		for _, of := range c {
			status.Replicas += of[row.Name].Replicas
		}
		if row.Most == nil {
			status.MissingReplicas = -1
			return
		}
		status.MissingReplicas = *row.Most
		for cluster, bound := range row.Bounds {
			status.MissingReplicas += c.missing(row.Name, cluster, bound) - bound
		}
	}
}

// missing is how many more replicas a cluster's part of a subset takes.
func (c counters) missing(subset, cluster string, bound int32) int32 {
	of, known := c[cluster][subset]
	switch {
	case !known:
		return bound
	case of.MissingReplicas < 0: // the last one of an Adaptive member is open
		return max(bound-of.Replicas, 0)
	default:
		return of.MissingReplicas
	}
}
