// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateStatefulSet says what is wrong with an Advanced StatefulSet, which may come with or without its
// defaults. A nil old means that the object is new. Objects of other versions are converted first: what
// v1alpha1 has of the spec has the same names there.
func ValidateStatefulSet(old, obj *v1beta1.StatefulSet, claims ClaimResizing) field.ErrorList {
	p := ordinalSet(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	updates.statefulSetUpdate(field.NewPath("spec"), &old.Spec, &obj.Spec)
	updates.claimTemplates(field.NewPath("spec", "volumeClaimTemplates"), &old.Spec, &obj.Spec, claims)
	return append(updates.list, p.since(ordinalSet(old).list)...)
}

func (p *problems) statefulSetUpdate(path *field.Path, old, spec *v1beta1.StatefulSetSpec) {
	const another = "cannot be changed: make another StatefulSet"
	if !equality.Semantic.DeepEqual(old.Selector, spec.Selector) {
		p.forbidden(path.Child("selector"), another)
	}
	if old.ServiceName != spec.ServiceName {
		p.forbidden(path.Child("serviceName"), another)
	}
	if managementOf(old) != managementOf(spec) {
		p.forbidden(path.Child("podManagementPolicy"), another)
	}
	rolling := spec.UpdateStrategy.RollingUpdate
	if rolling != nil && rolling.PodUpdatePolicy == v1beta1.InPlaceOnlyPodUpdateStrategyType &&
		!onlyImagesDiffer(&old.Template.Spec, &spec.Template.Spec) {
		p.forbidden(path.Child("template", "spec"), "with podUpdatePolicy InPlaceOnly only the images of containers can be changed")
	}
}

func managementOf(spec *v1beta1.StatefulSetSpec) appsv1.PodManagementPolicyType {
	if spec.PodManagementPolicy == "" {
		return appsv1.OrderedReadyPodManagement
	}
	return spec.PodManagementPolicy
}

// ordinalSet checks one StatefulSet for itself.
func ordinalSet(obj *v1beta1.StatefulSet) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	filled := v1beta1.StatefulSet{Spec: *obj.Spec.DeepCopy()}
	v1beta1.DefaultStatefulSet(&filled, v1beta1.StatefulSetDefaultOptions{})
	spec, path := &filled.Spec, field.NewPath("spec")

	p.notNegative(path.Child("replicas"), int64(*spec.Replicas))
	oneOf(p, path.Child("podManagementPolicy"), spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)
	selector := p.selector(path.Child("selector"), spec.Selector)
	// The controller sets hostname and subdomain itself.
	template := spec.Template.DeepCopy()
	template.Spec.Hostname, template.Spec.Subdomain = "", ""
	p.workloadTemplate(path.Child("template"), template, spec.VolumeClaimTemplates, selector)
	p.reserved(path.Child("reserveOrdinals"), spec.ReserveOrdinals)
	if spec.Ordinals != nil {
		p.notNegative(path.Child("ordinals", "start"), int64(spec.Ordinals.Start))
	}
	p.claimPolicies(path, spec)
	parallel := spec.PodManagementPolicy == appsv1.ParallelPodManagement
	if spec.ScaleStrategy != nil && spec.ScaleStrategy.MaxUnavailable != nil {
		p.ordinalBudget(path.Child("scaleStrategy", "maxUnavailable"), spec.ScaleStrategy.MaxUnavailable, parallel)
	}
	p.statefulSetRollout(path.Child("updateStrategy"), spec, parallel)
	return p
}

func (p *problems) claimPolicies(path *field.Path, spec *v1beta1.StatefulSetSpec) {
	if kind := spec.VolumeClaimUpdateStrategy.Type; kind != "" {
		oneOf(p, path.Child("volumeClaimUpdateStrategy", "type"), kind,
			v1beta1.OnPVCDeleteVolumeClaimUpdateStrategyType, v1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType)
	}
	policy, at := spec.PersistentVolumeClaimRetentionPolicy, path.Child("persistentVolumeClaimRetentionPolicy")
	if policy == nil {
		return
	}
	for _, f := range []named[v1beta1.PersistentVolumeClaimRetentionPolicyType]{{"whenDeleted", policy.WhenDeleted}, {"whenScaled", policy.WhenScaled}} {
		if f.value != "" {
			oneOf(p, at.Child(f.name), f.value, v1beta1.RetainPersistentVolumeClaimRetentionPolicyType, v1beta1.DeletePersistentVolumeClaimRetentionPolicyType)
		}
	}
}

var ordinalRange = regexp.MustCompile(`^\d+-\d+$`)

// reserved wants ordinals, or ranges of them. One that is wrong would undo all: the controller reserves
// nothing then.
func (p *problems) reserved(path *field.Path, ordinals []intstr.IntOrString) {
	for i, ordinal := range ordinals {
		switch {
		case ordinal.Type == intstr.Int:
			p.notNegative(path.Index(i), int64(ordinal.IntVal))
		case !ordinalRange.MatchString(ordinal.StrVal):
			p.invalid(path.Index(i), ordinal.StrVal, "must be a number (3) or a range in quotes (\"3-5\")")
		default:
			first, last, _ := strings.Cut(ordinal.StrVal, "-")
			from, fromErr := strconv.ParseInt(first, 10, 32)
			to, toErr := strconv.ParseInt(last, 10, 32)
			if fromErr != nil || toErr != nil || from > to {
				p.invalid(path.Index(i), ordinal.StrVal, "must not start after its end, nor go beyond 2147483647")
			}
		}
	}
}

// ordinalBudget wants at least one pod, and no other number where pods go one by one.
func (p *problems) ordinalBudget(path *field.Path, value *intstr.IntOrString, parallel bool) {
	if !parallel && *value != intstr.FromInt32(1) {
		p.invalid(path, value.String(), "must be 1 unless podManagementPolicy is Parallel: otherwise pods go one by one")
		return
	}
	if p.numberOrPercent(path, value, false) && roundedUp(value, 1) < 1 {
		p.invalid(path, value.String(), "must be 1 or more, or above 0%")
	}
}

func (p *problems) statefulSetRollout(path *field.Path, spec *v1beta1.StatefulSetSpec, parallel bool) {
	strategy := &spec.UpdateStrategy
	oneOf(p, path.Child("type"), strategy.Type, appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)
	rolling, path := strategy.RollingUpdate, path.Child("rollingUpdate")
	if rolling == nil {
		return
	}
	if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		p.invalid(path, "", "cannot be set with type OnDelete: take it out")
		return
	}
	if rolling.Partition != nil {
		p.notNegative(path.Child("partition"), int64(*rolling.Partition))
	}
	if rolling.MaxUnavailable != nil {
		p.ordinalBudget(path.Child("maxUnavailable"), rolling.MaxUnavailable, parallel)
	}
	if rolling.MinReadySeconds != nil {
		p.number(path.Child("minReadySeconds"), int64(*rolling.MinReadySeconds), 0, int64(v1beta1.MaxStatefulSetMinReadySeconds), "must be between 0 and 300 seconds")
	}
	if rolling.PodUpdatePolicy != "" {
		oneOf(p, path.Child("podUpdatePolicy"), rolling.PodUpdatePolicy, v1beta1.RecreatePodUpdateStrategyType,
			v1beta1.InPlaceIfPossiblePodUpdateStrategyType, v1beta1.InPlaceOnlyPodUpdateStrategyType)
	}
	if rolling.PodUpdatePolicy.InPlace() && !hasGate(&spec.Template.Spec, v1beta1.InPlaceUpdateReady) {
		p.invalid(path.Child("podUpdatePolicy"), rolling.PodUpdatePolicy,
			"needs readiness gate "+v1beta1.InPlaceUpdateReady+" in spec.template.spec.readinessGates: add it")
	}
	if rolling.UnorderedUpdate == nil {
		return
	}
	if !parallel {
		p.invalid(path.Child("unorderedUpdate"), "", "needs podManagementPolicy Parallel: otherwise pods go in order")
	}
	p.priority(path.Child("unorderedUpdate", "priorityStrategy"), rolling.UnorderedUpdate.PriorityStrategy)
}

func hasGate(spec *corev1.PodSpec, gate corev1.PodConditionType) bool {
	for i := range spec.ReadinessGates {
		if spec.ReadinessGates[i].ConditionType == gate {
			return true
		}
	}
	return false
}
