// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// ValidateUnitedDeployment says what is wrong with a UnitedDeployment, which may come with or without
// its defaults. A nil old means that the object is new. Objects of other versions are converted first:
// the spec is the same in all.
func ValidateUnitedDeployment(old, obj *v1beta1.UnitedDeployment) field.ErrorList {
	p := unitedDeployment(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if _, share := old.Labels[fleetv1alpha1.SliceLabel]; !share { // of a share, the hub says what may change
		updates.subsetsUpdate(field.NewPath("spec", "topology", "subsets"), old.Spec.Topology.Subsets, obj.Spec.Topology.Subsets)
	}
	updates.selectorUpdate(field.NewPath("spec", "selector"), old, obj)
	updates.templateUpdate(field.NewPath("spec", "template"), &old.Spec.Template, &obj.Spec.Template)
	return append(updates.list, p.since(unitedDeployment(old).list)...)
}

// unitedDeployment checks one UnitedDeployment for itself.
func unitedDeployment(obj *v1beta1.UnitedDeployment) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	spec, path := &obj.Spec, field.NewPath("spec")
	if spec.Replicas != nil {
		p.notNegative(path.Child("replicas"), int64(*spec.Replicas))
	}
	selector := p.selector(path.Child("selector"), spec.Selector)
	p.subsetTemplate(path.Child("template"), &spec.Template, selector)
	p.topology(path.Child("topology"), spec)
	p.unitedUpdate(path.Child("updateStrategy"), spec)
	return p
}

func (p *problems) unitedUpdate(path *field.Path, spec *v1beta1.UnitedDeploymentSpec) {
	if spec.UpdateStrategy.Type != "" {
		oneOf(p, path.Child("type"), spec.UpdateStrategy.Type, v1beta1.ManualUpdateStrategyType)
	}
	if spec.UpdateStrategy.ManualUpdate == nil {
		return
	}
	names := map[string]bool{}
	for i := range spec.Topology.Subsets {
		names[spec.Topology.Subsets[i].Name] = true
	}
	partitions := spec.UpdateStrategy.ManualUpdate.Partitions
	for _, name := range sortedKeys(partitions) {
		if !names[name] {
			p.invalid(path.Child("manualUpdate", "partitions").Key(name), partitions[name], "must be the name of a subset in spec.topology.subsets")
		}
	}
}

// selectorUpdate wants a changed selector to match the subset workloads still: they would be let go of.
func (p *problems) selectorUpdate(path *field.Path, old, obj *v1beta1.UnitedDeployment) {
	if equality.Semantic.DeepEqual(old.Spec.Selector, obj.Spec.Selector) {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(obj.Spec.Selector)
	workloads := obj.Spec.Template.Metadata()
	if err == nil && workloads != nil && !selector.Matches(labels.Set(workloads.Labels)) {
		p.invalid(path, "", "must match the labels in metadata of the template in spec.template: the UnitedDeployment would let go of its workloads")
	}
}

// subsetsUpdate wants each subset to stay where it is.
func (p *problems) subsetsUpdate(path *field.Path, old, subsets []v1beta1.Subset) {
	before := map[string]*v1beta1.Subset{}
	for i := range old {
		before[old[i].Name] = &old[i]
	}
	for i := range subsets {
		was, present := before[subsets[i].Name]
		if !present {
			continue
		}
		at := path.Index(i)
		if !equality.Semantic.DeepEqual(was.NodeSelectorTerm, subsets[i].NodeSelectorTerm) {
			p.forbidden(at.Child("nodeSelectorTerm"), "cannot be changed: add a subset of another name and take this one out")
		}
		if !equality.Semantic.DeepEqual(was.Tolerations, subsets[i].Tolerations) {
			p.forbidden(at.Child("tolerations"), "cannot be changed: add a subset of another name and take this one out")
		}
	}
}

// templateUpdate wants the fields that a StatefulSet cannot change to stay. Changing to another kind of
// template is possible.
func (p *problems) templateUpdate(path *field.Path, old, template *v1beta1.SubsetTemplate) {
	if was, is := old.StatefulSetTemplate, template.StatefulSetTemplate; was != nil && is != nil {
		fixed := is.Spec.DeepCopy()
		fixed.Template, fixed.UpdateStrategy, fixed.Replicas = was.Spec.Template, was.Spec.UpdateStrategy, was.Spec.Replicas
		fixed.MinReadySeconds, fixed.Ordinals = was.Spec.MinReadySeconds, was.Spec.Ordinals
		fixed.PersistentVolumeClaimRetentionPolicy = was.Spec.PersistentVolumeClaimRetentionPolicy
		if !equality.Semantic.DeepEqual(was.Spec, *fixed) {
			p.forbidden(path.Child("statefulSetTemplate", "spec"),
				"only template, updateStrategy, minReadySeconds, ordinals and persistentVolumeClaimRetentionPolicy can be changed")
		}
	}
	if was, is := old.AdvancedStatefulSetTemplate, template.AdvancedStatefulSetTemplate; was != nil && is != nil {
		fixed := is.Spec.DeepCopy()
		fixed.Template, fixed.UpdateStrategy, fixed.Replicas = was.Spec.Template, was.Spec.UpdateStrategy, was.Spec.Replicas
		if !equality.Semantic.DeepEqual(was.Spec, *fixed) {
			p.forbidden(path.Child("advancedStatefulSetTemplate", "spec"), "only template and updateStrategy can be changed")
		}
	}
}
