// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/split"
	"github.com/flotilla-sh/flotilla/internal/allocate"
)

// Divider divides UnitedDeployments.
type Divider struct{}

// Divide makes the plan. A share.Problem says that the object cannot be divided as it is.
func (Divider) Divide(req share.Request) (share.Plan, error) {
	p, err := newPlanner(req)
	if err != nil {
		return share.Plan{}, err
	}
	rule := allocate.Fixed
	if isAdaptive(p.spec) && p.spec.Replicas != nil {
		rule = allocate.MinMax
	}
	allocated, err := rule(p.spec.Replicas, rulesOf(p.spec, p.held()))
	if err != nil {
		return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: "spec.topology: " + err.Error()}
	}
	p.plan = share.Plan{Revision: share.Revision(req.Target), Notes: slices.Clone(allocated.Notes)}
	if allocated.Reduced != "" {
		p.plan.Notes = append(p.plan.Notes, allocated.Reduced)
	}
	if allocated.Unplaced > 0 {
		p.plan.Short = append(p.plan.Short, share.Shortage{Subset: share.Whole, Replicas: allocated.Unplaced, Why: "no subset may take more"})
	}
	for _, s := range p.spec.Topology.Subsets {
		p.divide(s.Name, allocated.Replicas[s.Name])
	}
	if err := p.members(allocated.Replicas); err != nil {
		return share.Plan{}, err
	}
	return p.plan, nil
}

// planner holds what one Divide works on.
type planner struct {
	req  share.Request
	spec *appsv1beta1.UnitedDeploymentSpec
	plan share.Plan
	// subsets as each distinct object of the request has them.
	subsets map[*unstructured.Unstructured]map[string]subset
	// verdicts, shares and partitions by subset and then by cluster.
	verdicts   map[string]map[string]placement.Verdict
	shares     map[string]map[string]int32
	partitions map[string]map[string]int32
}

func newPlanner(req share.Request) (*planner, error) {
	spec, err := specOf(req.Target)
	if err != nil {
		return nil, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
	}
	wanted, err := subsetsOf(req.Target)
	if err != nil {
		return nil, err
	}
	p := &planner{
		req: req, spec: spec, subsets: map[*unstructured.Unstructured]map[string]subset{},
		verdicts: map[string]map[string]placement.Verdict{}, shares: map[string]map[string]int32{}, partitions: map[string]map[string]int32{},
	}
	for _, c := range req.Clusters {
		if _, known := p.subsets[c.Object]; known {
			continue
		}
		own, err := subsetsOf(c.Object)
		if err != nil {
			return nil, spoilt(c.Name, err.Error())
		}
		if len(own) == 0 && len(wanted) > 0 {
			return nil, spoilt(c.Name, "takes every subset of spec.topology away; to take a cluster's share back, select it no more")
		}
		p.subsets[c.Object] = own
	}
	return p, nil
}

// spoilt says that the object was sound and is not any more for one cluster: its override is to be mended.
func spoilt(cluster, why string) error {
	return share.Problem{Reason: fleetv1alpha1.ReasonRenderFailed, Message: fmt.Sprintf("spec.overrides: for cluster %s: %s", cluster, why)}
}

// held is what the clusters hold, for the allocation rules; copies count once.
func (p *planner) held() share.Holdings {
	if p.req.Mode != fleetv1alpha1.DivisionDuplicated {
		return p.req.Held
	}
	most := map[string]int32{}
	for _, held := range p.req.Held {
		for name, n := range held {
			most[name] = max(most[name], n)
		}
	}
	return share.Holdings{"": most}
}

// divide shares a subset's replicas and partition out among the clusters.
func (p *planner) divide(name string, replicas int32) {
	p.verdicts[name] = p.match(name)
	if note := share.UnknownNote(name, p.verdicts[name]); note != "" {
		p.plan.Notes = append(p.plan.Notes, note)
	}
	partition, manual := p.partitionOf(name)
	if p.req.Mode == fleetv1alpha1.DivisionDuplicated {
		p.duplicate(name, replicas, partition, manual)
		return
	}
	result := split.Steady(split.Request{Key: string(p.req.Target.GetUID()) + "/" + name, Replicas: replicas, Buckets: p.req.Buckets(name, p.limit(name))})
	shares := make(map[string]int32, len(result.Shares))
	for _, s := range result.Shares {
		shares[s.Name] = s.Replicas
	}
	for _, m := range result.Moves {
		p.plan.Moves = append(p.plan.Moves, share.Move{Move: m, Subset: name})
	}
	if result.Short > 0 {
		p.plan.Short = append(p.plan.Short, p.shortage(name, result))
	}
	placed := replicas - result.Short
	partition = min(partition, placed)
	p.shares[name] = shares
	if manual {
		p.partitions[name] = p.req.InProportion(name+"/partition", partition, shares)
	}
	p.plan.Subsets = append(p.plan.Subsets, share.Subset{Name: name, Replicas: placed, Partition: partition})
}

// duplicate gives every matching cluster all replicas.
func (p *planner) duplicate(name string, replicas, partition int32, manual bool) {
	shares, partitions := map[string]int32{}, map[string]int32{}
	total := share.Subset{Name: name}
	for cluster, verdict := range p.verdicts[name] {
		if !verdict.Matches {
			continue
		}
		n := replicas
		if verdict.Unknown {
			n = min(replicas, p.req.Held.Of(cluster, name))
		}
		shares[cluster], partitions[cluster] = n, min(partition, n)
		total.Replicas, total.Partition = total.Replicas+n, total.Partition+min(partition, n)
	}
	p.shares[name] = shares
	if manual {
		p.partitions[name] = partitions
	}
	p.plan.Subsets = append(p.plan.Subsets, total)
}

// limit is what a chosen cluster may get of a subset, by the verdict on it.
func (p *planner) limit(name string) func(share.Cluster) share.Limit {
	return func(c share.Cluster) share.Limit {
		verdict := p.verdicts[name][c.Name]
		return share.Limit{Out: !verdict.Matches, Why: verdict.Why}
	}
}

func (p *planner) shortage(name string, result split.Result) share.Shortage {
	out := share.Shortage{Subset: name, Replicas: result.Short}
	for _, f := range result.Full {
		if p.verdicts[name][f.Name].Matches {
			out.Full = append(out.Full, f)
		}
	}
	if len(out.Full) > 0 {
		return out
	}
	out.Why = "no cluster is selected"
	if len(p.verdicts[name]) > 0 {
		out.Why = "no selected cluster matches: " + share.Whys(p.verdicts[name])
	}
	return out
}

// partitionOf is the subset's manual partition, and whether it has one.
func (p *planner) partitionOf(name string) (int32, bool) {
	manual := p.spec.UpdateStrategy.ManualUpdate
	if manual == nil {
		return 0, false
	}
	n, ok := manual.Partitions[name]
	return max(n, 0), ok
}
