// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// duplicate gives every cluster that some subset matches the whole workload, and its subsets with the
// bounds they have.
func (d Divider) duplicate(req share.Request) (share.Plan, error) {
	spec, err := specOf(d.Spread)
	if err != nil {
		return share.Plan{}, d.invalid("%v", err)
	}
	total, err := wholeOf(spec, req.Target)
	if err != nil {
		return share.Plan{}, d.invalid("%v", err)
	}
	s, err := d.read(total)
	if err != nil {
		return share.Plan{}, err
	}
	plan, err := d.Inner.Divide(req)
	if err != nil {
		return share.Plan{}, err
	}
	of := divisionOf(req, s)
	for _, one := range s.subsets {
		of.subsets = append(of.subsets, share.SpreadSubset{Name: one.name, Shares: map[string]int32{}, Bounds: map[string]int32{}})
	}
	whole := map[string]bool{}
	for _, c := range req.Clusters {
		whole[c.Name] = of.own(c.Name, total)
	}
	for i := range of.subsets {
		of.subsets[i].Most = mostOf(s.subsets[i], of.subsets[i].Bounds)
	}
	d.spreads(&plan, of, func(i int, cluster string) any {
		if whole[cluster] { // a percentage stays one
			return s.subsets[i].raw["maxReplicas"]
		}
		return of.bound(i, cluster)
	}, func(string) bool { return false })
	return plan, nil
}

// own fills the subsets of one cluster by itself, and tells whether it has all of them: a percentage may
// stay one only then, as fewer do not make up 100%.
func (d division) own(cluster string, total int32) bool {
	all := true
	for i, one := range d.spread.subsets {
		if !d.verdicts[one.name][cluster].Matches {
			all = false
			continue
		}
		n := total
		if one.most != nil {
			n = min(total, *one.most)
			d.subsets[i].Bounds[cluster] = *one.most
		}
		d.subsets[i].Shares[cluster] = n
		total -= n
	}
	return all
}

// mostOf is what all clusters together take of a subset; nil without a bound.
func mostOf(s subset, bounds map[string]int32) *int32 {
	if s.most == nil {
		return nil
	}
	var all int32
	for _, n := range bounds {
		all = sum(all, n)
	}
	return &all
}

// wholeOf is how many replicas percentages are of: what the filter's paths add up to, a Job's parallelism,
// or spec.replicas.
func wholeOf(spec *appsv1beta1.WorkloadSpreadSpec, target *unstructured.Unstructured) (int32, error) {
	var paths []string
	switch gk := target.GroupVersionKind().GroupKind(); {
	case spec.TargetFilter != nil && len(spec.TargetFilter.ReplicasPathList) > 0:
		paths = spec.TargetFilter.ReplicasPathList
	case gk.Group == "batch" && gk.Kind == "Job":
		if _, found, _ := unstructured.NestedFieldNoCopy(target.Object, "spec", "parallelism"); !found {
			return 1, nil
		}
		paths = []string{"spec.parallelism"}
	default:
		return share.Replicas(target)
	}
	var all int32
	for _, path := range paths {
		n, err := numberAt(target.Object, path)
		if err != nil {
			return 0, err
		}
		all = sum(all, n)
	}
	return all, nil
}

// numberAt reads the number at a dotted path, in which numbers are places in lists.
func numberAt(object map[string]any, path string) (int32, error) {
	var at any = object
	for _, step := range strings.Split(path, ".") {
		switch here := at.(type) {
		case map[string]any:
			at = here[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(here) {
				return 0, fmt.Errorf("the workload has no %s", path)
			}
			at = here[i]
		default:
			return 0, fmt.Errorf("the workload has no %s", path)
		}
	}
	n, ok := at.(int64)
	if !ok || n < 0 || n > maxInt32 {
		return 0, fmt.Errorf("%s of the workload is no number of replicas", path)
	}
	return int32(n), nil
}
