// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// request is one server-side apply; or, with clear set, a patch that takes that field out.
type request struct {
	owner  string
	object *unstructured.Unstructured
	clear  []string
}

// create lists the requests, in order, that make an absent object: the template's owner creates it with
// all numbers, since defaults would make it one pod; then the numbers get their owners; then the
// template lets go of them.
func (t *target) create() []request {
	out := []request{{owner: fleetv1alpha1.TemplateFieldOwner, object: t.whole()}}
	if t.split != nil {
		out = append(out, t.splitRequest(nil))
	}
	if t.partitions != nil {
		out = append(out, t.rolloutRequest(nil, nil))
	}
	if len(out) > 1 {
		out = append(out, t.templateRequest())
	}
	return out
}

// update lists the requests, in order, that bring the object from live to the target. Sent anew
// from the start after any of them, they arrive at the same.
//
// When the template changes, partitions and replicas of the subsets that stay go first, partitions
// not below those in force; then the template, which brings and takes subsets with their selectors;
// then all numbers. So no template is in force with the lower partitions of the next one, a subset
// that goes is not held by its replicas alone, and one that comes is not made by them.
func (t *target) update(live *unstructured.Unstructured, templateHolds bool) []request {
	splits := t.split != nil || owns(live, fleetv1alpha1.SplitFieldOwner)
	rolls := t.partitions != nil || owns(live, fleetv1alpha1.RolloutFieldOwner)
	var out []request
	if !templateHolds {
		stay := subsetNames(live)
		if rolls {
			out = append(out, t.rolloutRequest(stay, livePartitions(live)))
		}
		if splits {
			out = append(out, t.holding(live).splitRequest(stay))
		}
	}
	out = append(out, t.templateRequest())
	if splits {
		out = append(out, t.splitRequest(nil))
	}
	if rolls {
		out = append(out, t.rolloutRequest(nil, nil))
	}
	return clearing(out, live)
}

// holding is the target with the replicas in force when it is a whole copy: they must not be let go
// of before the template brings its own.
func (t *target) holding(live *unstructured.Unstructured) *target {
	if t.split != nil {
		return t
	}
	return &target{base: t.base, split: liveReplicas(live), partitions: t.partitions}
}

// clearing puts a patch before a request that gives all partitions up. Server-side apply would leave
// null where their container is held by somebody else, and schemas refuse null.
func clearing(list []request, live *unstructured.Unstructured) []request {
	path := rolloutPath(live.GroupVersionKind())
	there := len(livePartitions(live)) > 0
	var out []request
	for _, r := range list {
		if r.owner == fleetv1alpha1.RolloutFieldOwner {
			gone := len(livePartitions(r.object)) == 0
			if there && gone {
				out = append(out, request{object: r.object, clear: path})
			}
			there = !gone
		}
		out = append(out, r)
	}
	return out
}

func (t *target) templateRequest() request {
	return request{owner: fleetv1alpha1.TemplateFieldOwner, object: t.base}
}

func (t *target) splitRequest(only map[string]bool) request {
	return request{owner: fleetv1alpha1.SplitFieldOwner, object: t.splitSet(only)}
}

func (t *target) rolloutRequest(only map[string]bool, floor map[string]int64) request {
	return request{owner: fleetv1alpha1.RolloutFieldOwner, object: t.rolloutSet(only, floor)}
}

// owns tells whether the owner holds fields of the object by server-side apply.
func owns(obj *unstructured.Unstructured, owner string) bool {
	for _, e := range obj.GetManagedFields() {
		if e.Manager == owner && e.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}
