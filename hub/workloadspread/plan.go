// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// Inner is the divider of the workload's kind. It keeps to share.Request.Fixed.
type Inner interface {
	Divide(share.Request) (share.Plan, error)
	Status(target *unstructured.Unstructured, s share.Summary) (map[string]any, error)
}

// Divider divides workloads by a WorkloadSpread.
type Divider struct {
	// Inner divides the workload itself, and makes its status.
	Inner
	// Spread is the hub's WorkloadSpread. It is not changed.
	Spread *unstructured.Unstructured
}

// Divide makes the plan. A share.Problem says that workload or WorkloadSpread cannot be divided as they are.
func (d Divider) Divide(req share.Request) (share.Plan, error) {
	if req.Mode == fleetv1alpha1.DivisionDuplicated {
		return d.duplicate(req)
	}
	total, err := share.Replicas(req.Target)
	if err != nil {
		return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
	}
	s, err := d.read(total)
	if err != nil {
		return share.Plan{}, err
	}
	if err := d.counts(s.spec, req.Target); err != nil {
		return share.Plan{}, err
	}
	f := fill(req, s, total)
	req.Fixed = f.totals()
	plan, err := d.Inner.Divide(req)
	if err != nil {
		return share.Plan{}, err
	}
	plan.Moves, plan.Notes = f.moves(), append(plan.Notes, f.notes()...)
	plan.Short = nil
	if f.short > 0 {
		plan.Short = []share.Shortage{{Replicas: f.short, Why: f.whyShort()}}
	}
	d.spreads(&plan, f.division, f.bound, func(cluster string) bool { return f.shares[share.Whole][cluster] > 0 })
	for i := range plan.Slices {
		plan.Slices[i].Held = f.held(plan.Slices[i].Cluster)
	}
	if note := adaptiveNote(s.spec, plan); note != "" {
		plan.Notes = append(plan.Notes, note)
	}
	return plan, nil
}

// division is what both modes make: verdicts by subset and then by cluster, and a row for each subset.
type division struct {
	req      share.Request
	spread   spread
	verdicts map[string]map[string]placement.Verdict
	subsets  []share.SpreadSubset
}

func divisionOf(req share.Request, s spread) division {
	d := division{req: req, spread: s, verdicts: map[string]map[string]placement.Verdict{}}
	for _, one := range s.subsets {
		d.verdicts[one.name] = map[string]placement.Verdict{}
		for _, c := range req.Clusters {
			d.verdicts[one.name][c.Name] = req.Verdict(c, one.name, one.term)
		}
	}
	return d
}

// bound is a cluster's part of a subset's bound, by the subset's place in the order; nil without one.
func (d division) bound(i int, cluster string) any {
	if n, ok := d.subsets[i].Bounds[cluster]; ok {
		return int64(n)
	}
	return nil
}

// spreads gives every cluster its part of the WorkloadSpread. A cluster that no subset matches loses its
// slice, unless needed says that it has replicas all the same. bound is what a cluster's maxReplicas say.
func (d Divider) spreads(plan *share.Plan, of division, bound func(i int, cluster string) any, needed func(cluster string) bool) {
	plan.Spread = &share.Spread{Subsets: of.subsets, Copied: map[string]bool{}}
	clusters := make(map[string]placement.Cluster, len(of.req.Clusters))
	for _, c := range of.req.Clusters {
		clusters[c.Name] = c.Cluster
	}
	copies := d.copies(of.spread.spec)
	plan.Slices = slices.DeleteFunc(plan.Slices, func(s share.Slice) bool {
		return !needed(s.Cluster) && !slices.ContainsFunc(of.spread.subsets, func(one subset) bool { return of.verdicts[one.name][s.Cluster].Matches })
	})
	for i := range plan.Slices {
		slice := &plan.Slices[i]
		slice.Terms = share.Terms{}
		m := member{cluster: clusters[slice.Cluster]}
		for n, one := range of.spread.subsets {
			if verdict := of.verdicts[one.name][slice.Cluster]; verdict.Matches {
				slice.Terms[one.name] = verdict.Member
				m.add(one, verdict.Member, bound(n, slice.Cluster))
			}
		}
		if object := copies.of(m); object != nil {
			slice.Others, plan.Spread.Copied[slice.Cluster] = append(slice.Others, object), true
		}
	}
}

// notes are what a person should know of a plan that places all there is.
func (f *filling) notes() (out []string) {
	for _, one := range f.subsets {
		if note := share.UnknownNote(one.Name, f.verdicts[one.Name]); note != "" {
			out = append(out, note)
		}
		if one.Passed > 0 && f.short == 0 {
			out = append(out, fmt.Sprintf("subset %s: %d replicas went on to later subsets: %s", one.Name, one.Passed, one.Why))
		}
	}
	var beyond int32
	for _, n := range f.shares[share.Whole] {
		beyond += n
	}
	if beyond > 0 {
		out = append(out, fmt.Sprintf("%d replicas are more than all subsets take: they are in none", beyond))
	}
	return out
}

// adaptiveNote says what is not moved on, though the strategy is Adaptive; "" when nothing is left to say.
func adaptiveNote(spec *appsv1beta1.WorkloadSpreadSpec, plan share.Plan) string {
	if !isAdaptive(spec) {
		return ""
	}
	a := spec.ScheduleStrategy.Adaptive
	if a == nil || a.RescheduleCriticalSeconds == nil || *a.RescheduleCriticalSeconds <= 0 {
		return "scheduleStrategy Adaptive without rescheduleCriticalSeconds: pods that find no node wait for one and are not moved on"
	}
	unseen := map[string]placement.Verdict{}
	for _, s := range plan.Slices {
		if !plan.Spread.Copied[s.Cluster] {
			unseen[s.Cluster] = placement.Verdict{Why: "it has no WorkloadSpread of its own"}
		}
	}
	if len(unseen) == 0 {
		return ""
	}
	return "scheduleStrategy Adaptive: whether pods find a node is not known of " + share.Whys(unseen)
}

func isAdaptive(spec *appsv1beta1.WorkloadSpreadSpec) bool {
	return spec.ScheduleStrategy.Type == appsv1beta1.AdaptiveWorkloadSpreadScheduleStrategyType
}

// whyShort says why replicas have no place at all.
func (f *filling) whyShort() string {
	if len(f.req.Clusters) == 0 {
		return "no cluster is selected"
	}
	var parts []string
	for _, one := range f.subsets {
		if one.Passed > 0 {
			parts = append(parts, "subset "+one.Name+": "+one.Why)
		}
	}
	if len(f.full) > 0 {
		parts = append(parts, "in no subset: "+reasons(f.full))
	}
	return strings.Join(parts, "; ")
}
