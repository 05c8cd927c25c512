// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// members makes the slice of every cluster that some subset matches. allocated are the replicas the
// rules gave each subset.
func (p *planner) members(allocated map[string]int32) error {
	bounds, err := p.memberBounds(allocated)
	if err != nil {
		return err
	}
	same := map[string]*unstructured.Unstructured{}
	for _, c := range p.req.Clusters {
		slice := share.Slice{Cluster: c.Name, Held: map[string]int32{}, Terms: share.Terms{}}
		var list []any
		for _, s := range p.spec.Topology.Subsets {
			verdict := p.verdicts[s.Name][c.Name]
			if !verdict.Matches {
				continue
			}
			list = append(list, memberSubset(p.subsets[c.Object][s.Name], verdict, bounds.of(s.Name, c.Name)))
			slice.Terms[s.Name] = verdict.Member
			p.numbers(&slice, s.Name)
		}
		if len(list) == 0 {
			continue
		}
		openLast(list)
		p.wholeNumbers(&slice)
		slice.Object = shared(same, c.Object, list)
		p.plan.Slices = append(p.plan.Slices, slice)
	}
	return nil
}

// numbers adds one subset's numbers to a slice.
func (p *planner) numbers(slice *share.Slice, name string) {
	n := p.shares[name][slice.Cluster]
	slice.Held[name] = n
	if !isAdaptive(p.spec) {
		slice.Split = append(slice.Split, fleetv1alpha1.SubsetReplicas{Subset: name, Replicas: n})
	}
	if partitions, manual := p.partitions[name]; manual {
		slice.Partitions = append(slice.Partitions, fleetv1alpha1.SubsetPartition{Subset: name, Partition: partitions[slice.Cluster]})
	}
}

// wholeNumbers puts one number for all subsets into an adaptive slice.
func (p *planner) wholeNumbers(slice *share.Slice) {
	if isAdaptive(p.spec) {
		slice.Split = []fleetv1alpha1.SubsetReplicas{{Subset: share.Whole, Replicas: slice.Replicas()}}
	}
}

// memberSubset is the subset as the member gets it. A nil bound has no minimum and maximum.
func memberSubset(s subset, verdict placement.Verdict, bound *bound) map[string]any {
	out := maps.Clone(s.raw)
	for _, number := range []string{"replicas", "minReplicas", "maxReplicas"} {
		delete(out, number)
	}
	delete(out, "nodeSelectorTerm")
	if len(verdict.Member.MatchExpressions) > 0 {
		term, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&verdict.Member)
		if err == nil { // a term came in, so it goes out
			out["nodeSelectorTerm"] = term
		}
	}
	if bound != nil {
		out["minReplicas"] = int64(bound.least)
		if bound.most != nil {
			out["maxReplicas"] = int64(*bound.most)
		}
	}
	return out
}

// openLast takes the maximum off the last subset when every subset has one.
func openLast(list []any) {
	for _, s := range list {
		if _, ok := s.(map[string]any)["maxReplicas"]; !ok {
			return
		}
	}
	delete(list[len(list)-1].(map[string]any), "maxReplicas")
}

// shared builds the member's object, or returns the equal one that another cluster got.
func shared(same map[string]*unstructured.Unstructured, base *unstructured.Unstructured, list []any) *unstructured.Unstructured {
	key := strings.Builder{}
	_, _ = fmt.Fprintf(&key, "%p", base)
	for _, s := range list {
		fields := s.(map[string]any)
		_, _ = fmt.Fprintf(&key, "|%v|%v|%v|%v", fields["name"], fields["nodeSelectorTerm"], fields["minReplicas"], fields["maxReplicas"])
	}
	if known, ok := same[key.String()]; ok {
		return known
	}
	object := memberObject(base, list)
	same[key.String()] = object
	return object
}

// memberObject copies what it changes and shares the rest with the base.
func memberObject(base *unstructured.Unstructured, subsets []any) *unstructured.Unstructured {
	object := maps.Clone(base.Object)
	spec := share.Child(object, "spec")
	delete(spec, "replicas")
	share.Child(spec, "topology")["subsets"] = subsets
	if strategy, ok := spec["updateStrategy"].(map[string]any); ok && strategy["manualUpdate"] != nil {
		delete(share.Child(share.Child(spec, "updateStrategy"), "manualUpdate"), "partitions")
	}
	return &unstructured.Unstructured{Object: object}
}
