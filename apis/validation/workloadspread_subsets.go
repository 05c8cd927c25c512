// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// spreadLimits wants numbers of pods of one form, and percentages that make up the whole.
func (p *problems) spreadLimits(path *field.Path, spec *v1beta1.WorkloadSpreadSpec) {
	form := intstr.Int
	if first := firstLimit(spec.Subsets); first != nil {
		form = first.Type
	}
	sum, before := int64(0), len(p.list)
	for i := range spec.Subsets {
		limit, at := spec.Subsets[i].MaxReplicas, path.Index(i).Child("maxReplicas")
		if limit == nil || !p.spreadLimit(at, limit, form, spec.TargetReference) {
			continue
		}
		sum += roundedUp(limit, 100)
		if form == intstr.String && sum > 100 {
			p.invalid(at, limit.String(), "percentages must not add up to more than 100%")
		}
	}
	if form == intstr.Int || len(p.list) > before {
		return
	}
	if last := spec.Subsets[len(spec.Subsets)-1].MaxReplicas; last != nil && sum < 100 {
		p.invalid(path.Index(0).Child("maxReplicas"), "", "percentages must add up to 100%, or the last subset must have no maxReplicas")
	}
}

func firstLimit(subsets []v1beta1.WorkloadSpreadSubset) *intstr.IntOrString {
	for i := range subsets {
		if subsets[i].MaxReplicas != nil {
			return subsets[i].MaxReplicas
		}
	}
	return nil
}

// spreadLimit checks one number of pods, and says whether it is one.
func (p *problems) spreadLimit(path *field.Path, limit *intstr.IntOrString, form intstr.Type, target *v1beta1.TargetReference) bool {
	if limit.Type != form {
		p.invalid(path, limit.String(), "must be of one form in all subsets: numbers or percentages")
		return false
	}
	if limit.Type == intstr.String && target != nil && target.Kind == "StatefulSet" {
		p.invalid(path, limit.String(), "must be a number for a StatefulSet, whose ordinals are counted")
		return false
	}
	return p.numberOrPercent(path, limit, false)
}

// spreadPatch tries a patch on the pods of the target.
func (p *problems) spreadPatch(path *field.Path, patch []byte, context WorkloadSpreadContext) {
	if len(patch) == 0 || context.Template == nil {
		return
	}
	pod, err := json.Marshal(corev1.Pod{ObjectMeta: context.Template.ObjectMeta, Spec: context.Template.Spec})
	if err != nil {
		p.list = append(p.list, field.InternalError(path, err))
		return
	}
	patched, err := strategicpatch.StrategicMergePatch(pod, patch, &corev1.Pod{})
	if err != nil {
		p.invalid(path, string(patch), "must be a strategic merge patch on a pod: "+err.Error())
		return
	}
	var result corev1.Pod
	if err := json.Unmarshal(patched, &result); err != nil {
		p.invalid(path, string(patch), "must leave a pod: "+err.Error())
		return
	}
	// A mistake of the workload's own template is not the patch's.
	before, after := &problems{}, &problems{}
	before.podTemplate(path, context.Template, context.Claims)
	after.podTemplate(path, &corev1.PodTemplateSpec{ObjectMeta: result.ObjectMeta, Spec: result.Spec}, context.Claims)
	p.add(after.since(before.list))
}
