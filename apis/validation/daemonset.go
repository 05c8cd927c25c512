// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateDaemonSet says what is wrong with an Advanced DaemonSet, which may come with or without its
// defaults. A nil old means that the object is new.
func ValidateDaemonSet(old, obj *v1beta1.DaemonSet) field.ErrorList {
	p := advancedDaemonSet(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if !equality.Semantic.DeepEqual(obj.Spec.Selector, old.Spec.Selector) {
		updates.forbidden(field.NewPath("spec", "selector"), "cannot be changed: make another DaemonSet")
	}
	return append(updates.list, p.since(advancedDaemonSet(old).list)...)
}

// ValidateOldDaemonSet is ValidateDaemonSet for an object sent as v1alpha1, where the type of a rolling
// update may also be Surging. Other fields have the same names.
func ValidateOldDaemonSet(old, obj *v1alpha1.DaemonSet) field.ErrorList {
	stored, err := storedDaemonSet(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if old == nil {
		return append(ValidateDaemonSet(nil, stored), oldDaemonSet(obj).list...)
	}
	before, err := storedDaemonSet(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return append(ValidateDaemonSet(before, stored), oldDaemonSet(obj).since(oldDaemonSet(old).list)...)
}

func storedDaemonSet(in *v1alpha1.DaemonSet) (*v1beta1.DaemonSet, error) {
	filled, out := in.DeepCopy(), &v1beta1.DaemonSet{}
	if oldDaemonSet(in).list == nil {
		v1alpha1.DefaultDaemonSet(filled) // Surging means a surge, which the conversion does not write out
	}
	return out, v1alpha1.Convert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet(filled, out, nil)
}

// oldDaemonSet checks what only v1alpha1 can say.
func oldDaemonSet(obj *v1alpha1.DaemonSet) *problems {
	p := &problems{}
	rolling := obj.Spec.UpdateStrategy.RollingUpdate
	if rolling != nil && rolling.Type == v1alpha1.SurgingRollingUpdateType && !isZero(rolling.MaxUnavailable) {
		p.invalid(field.NewPath("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"), rolling.MaxUnavailable.String(),
			"must not be set with rollingUpdateType Surging: take it out")
	}
	return p
}

// advancedDaemonSet checks one DaemonSet for itself.
func advancedDaemonSet(obj *v1beta1.DaemonSet) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	filled := v1beta1.DaemonSet{Spec: *obj.Spec.DeepCopy()}
	v1beta1.DefaultDaemonSet(&filled)
	spec, path := &filled.Spec, field.NewPath("spec")

	selector := p.selector(path.Child("selector"), spec.Selector)
	p.workloadTemplate(path.Child("template"), &spec.Template, nil, selector)
	p.notNegative(path.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	p.notNegative(path.Child("revisionHistoryLimit"), int64(*spec.RevisionHistoryLimit))
	p.numberOrPercent(path.Child("burstReplicas"), spec.BurstReplicas, true)
	if spec.Lifecycle != nil && spec.Lifecycle.InPlaceUpdate != nil {
		p.forbidden(path.Child("lifecycle", "inPlaceUpdate"), "a DaemonSet has no such hook: take it out")
	}
	p.daemonSetRollout(path.Child("updateStrategy"), &spec.UpdateStrategy)
	return p
}

func (p *problems) daemonSetRollout(path *field.Path, strategy *v1beta1.DaemonSetUpdateStrategy) {
	oneOf(p, path.Child("type"), strategy.Type, v1beta1.RollingUpdateDaemonSetStrategyType, v1beta1.OnDeleteDaemonSetStrategyType)
	rolling := strategy.RollingUpdate
	if rolling == nil || strategy.Type != v1beta1.RollingUpdateDaemonSetStrategyType {
		return
	}
	path = path.Child("rollingUpdate")
	oneOf(p, path.Child("rollingUpdateType"), rolling.Type, v1beta1.StandardRollingUpdateType, v1beta1.InplaceRollingUpdateType)
	unavailable := p.upToAll(path.Child("maxUnavailable"), rolling.MaxUnavailable)
	surge := p.upToAll(path.Child("maxSurge"), rolling.MaxSurge)
	if unavailable && surge {
		p.nodeBudget(path, rolling)
	}
	p.upToAll(path.Child("partition"), rolling.Partition)
	if rolling.Selector != nil {
		lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
		p.add(metav1validation.ValidateLabelSelector(rolling.Selector, lenient, path.Child("selector")))
	}
}

// nodeBudget wants room for an update to move in, in one way.
func (p *problems) nodeBudget(path *field.Path, rolling *v1beta1.RollingUpdateDaemonSet) {
	surge := !isZero(rolling.MaxSurge)
	switch {
	case surge && !isZero(rolling.MaxUnavailable):
		p.invalid(path.Child("maxSurge"), rolling.MaxSurge.String(), "must be 0 when maxUnavailable is not: set one of the two")
	case !surge && isZero(rolling.MaxUnavailable):
		p.required(path.Child("maxUnavailable"), "must be 1 or more when maxSurge is 0: no pod could ever be updated")
	}
	if surge && rolling.Type == v1beta1.InplaceRollingUpdateType {
		p.invalid(path.Child("maxSurge"), rolling.MaxSurge.String(), "must be 0 with rollingUpdateType InPlaceIfPossible, which updates the pod that is there")
	}
}

// upToAll wants a number, or a whole percentage up to all, and says whether it is one.
func (p *problems) upToAll(path *field.Path, value *intstr.IntOrString) bool {
	if !p.numberOrPercent(path, value, false) {
		return false
	}
	if value != nil && value.Type == intstr.String && roundedUp(value, 100) > 100 {
		p.invalid(path, value.String(), "must not be above 100%")
		return false
	}
	return true
}

// isZero says whether a number or percentage is none of anything, as a missing one is.
func isZero(value *intstr.IntOrString) bool {
	return roundedUp(value, 100) == 0
}
