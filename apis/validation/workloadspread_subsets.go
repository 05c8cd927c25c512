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
	var first *intstr.IntOrString
	sum := int64(0)
	for i := range spec.Subsets {
		limit, at := spec.Subsets[i].MaxReplicas, path.Index(i).Child("maxReplicas")
		if limit == nil {
			continue
		}
		if first == nil {
			first = limit
		}
		if limit.Type != first.Type {
			p.invalid(at, limit.String(), "must be of one form in all subsets: numbers or percentages")
			continue
		}
		if limit.Type == intstr.String && spec.TargetReference != nil && spec.TargetReference.Kind == "StatefulSet" {
			p.invalid(at, limit.String(), "must be a number for a StatefulSet, whose ordinals are counted")
			continue
		}
		if !p.numberOrPercent(at, limit, false) || limit.Type == intstr.Int {
			continue
		}
		if sum += roundedUp(limit, 100); sum > 100 {
			p.invalid(at, limit.String(), "percentages must not add up to more than 100%")
		}
	}
	if last := len(spec.Subsets) - 1; first != nil && first.Type == intstr.String && sum < 100 && spec.Subsets[last].MaxReplicas != nil {
		p.invalid(path.Index(0).Child("maxReplicas"), "", "percentages must add up to 100%, or the last subset must have no maxReplicas")
	}
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
