// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateCloneSet says what is wrong with a CloneSet, which may come with or without its defaults. A
// nil old means that the object is new.
func ValidateCloneSet(old, obj *v1beta1.CloneSet) field.ErrorList {
	p := cloneSet(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if !equality.Semantic.DeepEqual(obj.Spec.Selector, old.Spec.Selector) {
		updates.forbidden(field.NewPath("spec", "selector"), "cannot be changed: make another CloneSet")
	}
	return append(updates.list, p.since(cloneSet(old).list)...)
}

// longestSetName leaves room for a dash and a pod's five characters in a host name.
const longestSetName = utilvalidation.DNS1123LabelMaxLength - 6

// CloneSetWarnings says what of a CloneSet of either version works otherwise than its author may think.
func CloneSetWarnings[T metav1.Object](obj T) []string {
	if len(obj.GetName()) <= longestSetName {
		return nil
	}
	return []string{fmt.Sprintf(
		"metadata.name: has more than %d characters: names of its pods have more than %d, so the host name inside of each is cut and may be that of another",
		longestSetName, utilvalidation.DNS1123LabelMaxLength)}
}

// metadata wants what the API server wants of any namespaced object.
func (p *problems) metadata(meta *metav1.ObjectMeta) {
	p.add(apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")))
}

func (p *problems) metadataUpdate(meta, old *metav1.ObjectMeta) {
	// It fills what is empty in the first.
	p.add(apivalidation.ValidateObjectMetaUpdate(meta.DeepCopy(), old, field.NewPath("metadata")))
}

// cloneSet checks one CloneSet for itself.
func cloneSet(obj *v1beta1.CloneSet) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	filled := v1beta1.CloneSet{Spec: *obj.Spec.DeepCopy()}
	v1beta1.DefaultCloneSet(&filled, v1beta1.DefaultOptions{})
	spec, path := &filled.Spec, field.NewPath("spec")

	p.notNegative(path.Child("replicas"), int64(*spec.Replicas))
	selector := p.selector(path.Child("selector"), spec.Selector)
	template := path.Child("template")
	p.selected(template.Child("metadata", "labels"), selector, spec.Template.Labels)
	p.selectsPods(path.Child("selector"), selector, spec.Template.Labels)
	p.podTemplate(template, &spec.Template, spec.VolumeClaimTemplates)
	p.alwaysRunning(template.Child("spec"), &spec.Template.Spec)

	scale := path.Child("scaleStrategy")
	seen := map[string]bool{}
	for i, name := range spec.ScaleStrategy.PodsToDelete {
		unique(p, seen, scale.Child("podsToDelete").Index(i), name)
	}
	p.numberOrPercent(scale.Child("maxUnavailable"), spec.ScaleStrategy.MaxUnavailable, true)
	p.cloneSetUpdate(path.Child("updateStrategy"), &spec.UpdateStrategy, *spec.Replicas)
	return p
}

// selectsPods wants a selector that the pods of a template which it matches go on to match: each of them would be let
// go of and made again for ever.
func (p *problems) selectsPods(path *field.Path, selector labels.Selector, template map[string]string) {
	if selector != nil && selector.Matches(labels.Set(template)) && !selector.Matches(labels.Set(v1beta1.CloneSetPodLabels(template))) {
		p.invalid(path, selector.String(), "must not ask for labels that each pod gets by itself (revision, instance, state)")
	}
}

func (p *problems) cloneSetUpdate(path *field.Path, strategy *v1beta1.CloneSetUpdateStrategy, replicas int32) {
	oneOf(p, path.Child("type"), strategy.Type, v1beta1.CloneSetRollingUpdateStrategyType, v1beta1.CloneSetOnDeleteUpdateStrategyType)
	rolling := strategy.RollingUpdate
	if rolling == nil {
		return
	}
	path = path.Child("rollingUpdate")
	if rolling.PodUpdatePolicy != "" {
		oneOf(p, path.Child("podUpdatePolicy"), rolling.PodUpdatePolicy, v1beta1.RecreatePodUpdateStrategyType,
			v1beta1.InPlaceIfPossiblePodUpdateStrategyType, v1beta1.InPlaceOnlyPodUpdateStrategyType)
	}
	p.numberOrPercent(path.Child("partition"), rolling.Partition, true)
	unavailable := p.numberOrPercent(path.Child("maxUnavailable"), rolling.MaxUnavailable, false)
	surge := p.numberOrPercent(path.Child("maxSurge"), rolling.MaxSurge, false)
	if unavailable && surge {
		p.budget(path, rolling, replicas)
	}
	p.priority(path.Child("priorityStrategy"), rolling.PriorityStrategy)
	p.scatter(path.Child("scatterStrategy"), rolling.ScatterStrategy)
	p.inPlace(path.Child("inPlaceUpdateStrategy"), rolling.InPlaceUpdateStrategy)
}

// budget wants room for an update to move in.
func (p *problems) budget(path *field.Path, rolling *v1beta1.RollingUpdateCloneSetStrategy, replicas int32) {
	surge := roundedUp(rolling.MaxSurge, replicas)
	if surge > 0 && rolling.PodUpdatePolicy == v1beta1.InPlaceOnlyPodUpdateStrategyType {
		p.invalid(path.Child("maxSurge"), rolling.MaxSurge.String(), "must be 0 with podUpdatePolicy InPlaceOnly, which makes no pods")
	}
	if rolling.MaxUnavailable == nil || replicas <= 0 {
		return
	}
	if surge < 1 && roundedUp(rolling.MaxUnavailable, replicas) < 1 {
		p.invalid(path.Child("maxUnavailable"), rolling.MaxUnavailable.String(),
			"must be 1 or more when maxSurge is 0: no pod could ever be updated")
	}
}
