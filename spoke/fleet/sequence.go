// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// request is one server-side apply.
type request struct {
	owner  string
	object *unstructured.Unstructured
}

// create lists the requests, in order, that make an absent object: the template's owner creates it with
// all numbers, since defaults would make it one pod; then the numbers get their owners; then the
// template lets go of them.
func (t *target) create() []request {
	out := []request{{fleetv1alpha1.TemplateFieldOwner, t.whole()}}
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
	var out []request
	if !templateHolds {
		stay := subsetNames(live)
		if t.partitions != nil {
			out = append(out, t.rolloutRequest(stay, livePartitions(live)))
		}
		if t.split != nil {
			out = append(out, t.splitRequest(stay))
		}
	}
	out = append(out, t.templateRequest())
	if t.split != nil || owns(live, fleetv1alpha1.SplitFieldOwner) {
		out = append(out, t.splitRequest(nil))
	}
	if t.partitions != nil || owns(live, fleetv1alpha1.RolloutFieldOwner) {
		out = append(out, t.rolloutRequest(nil, nil))
	}
	return out
}

func (t *target) templateRequest() request {
	return request{fleetv1alpha1.TemplateFieldOwner, t.base}
}

func (t *target) splitRequest(only map[string]bool) request {
	return request{fleetv1alpha1.SplitFieldOwner, t.splitSet(only)}
}

func (t *target) rolloutRequest(only map[string]bool, floor map[string]int64) request {
	return request{fleetv1alpha1.RolloutFieldOwner, t.rolloutSet(only, floor)}
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
