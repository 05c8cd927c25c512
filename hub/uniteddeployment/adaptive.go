// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"math"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/split"
	"github.com/flotilla-sh/flotilla/internal/allocate"
)

// bound is what one member's subset gets at least and at most.
type bound struct {
	least int32
	most  *int32
}

// memberBounds are bounds by subset and cluster; empty unless the schedule is Adaptive.
type memberBounds map[string]map[string]*bound

func (b memberBounds) of(subset, cluster string) *bound { return b[subset][cluster] }

// memberBounds divides minima and maxima among the clusters. A minimum never exceeds a share and a
// maximum is never below it: so filling minima first and then up to the maxima, in list order, leads the
// member to its shares.
func (p *planner) memberBounds(allocated map[string]int32) (memberBounds, error) {
	if !isAdaptive(p.spec) {
		return nil, nil
	}
	list, err := allocate.BoundsOf(p.spec.Replicas, rulesOf(p.spec, nil))
	if err != nil {
		return nil, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: "spec.topology: " + err.Error()}
	}
	out := memberBounds{}
	for _, b := range list {
		if p.req.Mode == fleetv1alpha1.DivisionDuplicated {
			out[b.Name] = p.wholeBounds(b)
			continue
		}
		shares := p.shares[b.Name]
		least := p.req.InProportion(b.Name+"/min", min(b.Min, sumOf(shares)), shares)
		room := map[string]int32{}
		if slack := b.Max - allocated[b.Name]; b.Max != math.MaxInt32 && slack > 0 {
			room = p.byWeight(b.Name, slack)
		}
		out[b.Name] = map[string]*bound{}
		for cluster, verdict := range p.verdicts[b.Name] {
			if !verdict.Matches {
				continue
			}
			one := &bound{least: least[cluster]}
			if b.Max != math.MaxInt32 {
				most := shares[cluster] + room[cluster]
				one.most = &most
			}
			out[b.Name][cluster] = one
		}
	}
	return out, nil
}

// wholeBounds gives every matching cluster the bounds as they are.
func (p *planner) wholeBounds(b allocate.Bounds) map[string]*bound {
	out := map[string]*bound{}
	for cluster, verdict := range p.verdicts[b.Name] {
		if !verdict.Matches {
			continue
		}
		out[cluster] = &bound{least: b.Min}
		if verdict.Unknown {
			out[cluster].least = min(b.Min, p.shares[b.Name][cluster])
		}
		if b.Max != math.MaxInt32 {
			out[cluster].most = &b.Max
		}
	}
	return out
}

// byWeight divides a number among the clusters that match a subset, by their weights.
func (p *planner) byWeight(name string, number int32) map[string]int32 {
	req := split.Request{Key: string(p.req.Target.GetUID()) + "/" + name + "/max", Replicas: number}
	for _, c := range p.req.Clusters {
		if p.verdicts[name][c.Name].Matches && c.Frozen == "" {
			req.Buckets = append(req.Buckets, split.Bucket{Name: c.Name, Weight: c.Weight, Hi: split.Unbounded})
		}
	}
	out := map[string]int32{}
	for _, s := range split.Ideal(req).Shares {
		out[s.Name] = s.Replicas
	}
	return out
}

func sumOf(shares map[string]int32) int32 {
	var total int32
	for _, n := range shares {
		total += n
	}
	return total
}
