// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

// ValidatePodUnavailableBudget says what is wrong with a PodUnavailableBudget among others of its
// namespace; the object itself may be among them. A nil old means that the object is new. Objects of other
// versions are converted first, where annotations that cannot be read make the conversion fail.
func ValidatePodUnavailableBudget(old, obj *policyv1beta1.PodUnavailableBudget, others []policyv1beta1.PodUnavailableBudget) field.ErrorList {
	p := podUnavailableBudget(obj, others)
	if old == nil {
		return p.list
	}
	updates, path := problems{}, field.NewPath("spec")
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	const another = "cannot be changed: make another PodUnavailableBudget"
	if !equality.Semantic.DeepEqual(obj.Spec.Selector, old.Spec.Selector) {
		updates.forbidden(path.Child("selector"), another)
	}
	if !equality.Semantic.DeepEqual(obj.Spec.TargetReference, old.Spec.TargetReference) {
		updates.forbidden(path.Child("targetRef"), another)
	}
	return append(updates.list, p.since(podUnavailableBudget(old, others).list)...)
}

// podUnavailableBudget checks one budget among others.
func podUnavailableBudget(obj *policyv1beta1.PodUnavailableBudget, others []policyv1beta1.PodUnavailableBudget) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	spec, path := &obj.Spec, field.NewPath("spec")
	p.budgetReplicas(obj)
	p.budgetScope(path, spec)
	p.budgetNumbers(path, spec)
	for i, operation := range spec.ProtectOperations {
		oneOf(p, path.Child("protectOperations").Index(i), operation, policyv1beta1.PubDeleteOperation,
			policyv1beta1.PubUpdateOperation, policyv1beta1.PubEvictOperation, policyv1beta1.PubResizeOperation)
	}
	if spec.IgnoredPodSelector != nil {
		p.selector(path.Child("ignoredPodSelector"), spec.IgnoredPodSelector)
	}
	p.budgetConflict(path, obj, others)
	return p
}

// budgetScope wants one way to say which pods are protected.
func (p *problems) budgetScope(path *field.Path, spec *policyv1beta1.PodUnavailableBudgetSpec) {
	switch {
	case spec.Selector == nil && spec.TargetReference == nil:
		p.required(path.Child("targetRef"), "set it or selector: say which pods are protected")
	case spec.Selector != nil && spec.TargetReference != nil:
		p.invalid(path.Child("selector"), "", "cannot be set together with targetRef: keep one of the two")
	case spec.Selector != nil:
		p.selector(path.Child("selector"), spec.Selector)
	default:
		ref := spec.TargetReference
		p.workloadOf(path.Child("targetRef"), ref.APIVersion, ref.Kind, ref.Name)
	}
}

// budgetNumbers wants one number of pods. None is one.
func (p *problems) budgetNumbers(path *field.Path, spec *policyv1beta1.PodUnavailableBudgetSpec) {
	switch {
	case spec.MaxUnavailable == nil && spec.MinAvailable == nil:
		p.required(path.Child("maxUnavailable"), "set it or minAvailable: say how many pods are protected")
	case spec.MaxUnavailable != nil && spec.MinAvailable != nil:
		p.invalid(path.Child("maxUnavailable"), spec.MaxUnavailable.String(), "cannot be set together with minAvailable: keep one of the two")
	}
	for _, f := range []named[*intstr.IntOrString]{{"maxUnavailable", spec.MaxUnavailable}, {"minAvailable", spec.MinAvailable}} {
		p.upToAll(path.Child(f.name), f.value)
	}
}

// budgetReplicas wants the annotation of v1alpha1, where there is one, to say what the field says.
func (p *problems) budgetReplicas(obj *policyv1beta1.PodUnavailableBudget) {
	const key = policyv1beta1.PodUnavailableBudgetProtectTotalReplicasKey
	replicas := obj.Spec.ProtectTotalReplicas
	if replicas != nil && *replicas < 1 {
		p.invalid(field.NewPath("spec", "protectTotalReplicas"), *replicas, "must be 1 or more")
	}
	text, present := obj.Annotations[key]
	if !present {
		return
	}
	path := field.NewPath("metadata", "annotations").Key(key)
	number, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		p.invalid(path, text, "must be a number of pods: take the annotation out in favour of spec.protectTotalReplicas")
	case replicas != nil && number != int64(*replicas):
		p.invalid(path, text, "must say what spec.protectTotalReplicas says: take the annotation out")
	}
}

// budgetConflict complains of the first budget that protects the same pods in the same way.
func (p *problems) budgetConflict(path *field.Path, obj *policyv1beta1.PodUnavailableBudget, others []policyv1beta1.PodUnavailableBudget) {
	for i := range others {
		other := &others[i]
		if other.Name == obj.Name || other.Namespace != obj.Namespace {
			continue
		}
		if mine, theirs := obj.Spec.TargetReference, other.Spec.TargetReference; mine != nil && theirs != nil {
			if sameWorkload([3]string{mine.APIVersion, mine.Kind, mine.Name}, [3]string{theirs.APIVersion, theirs.Kind, theirs.Name}) {
				p.invalid(path.Child("targetRef"), mine.Name, "is protected by PodUnavailableBudget "+other.Name+" already: change that one")
				return
			}
		}
		if mine, theirs := obj.Spec.Selector, other.Spec.Selector; mine != nil && theirs != nil && looselyOverlap(mine, theirs) {
			p.invalid(path.Child("selector"), metav1.FormatLabelSelector(mine), "selects pods of PodUnavailableBudget "+other.Name+" as well: change that one")
			return
		}
	}
}

// ValidateOldPodUnavailableBudget checks besides what v1alpha1 says in an annotation, of an object sent as v1alpha1: a
// budget that protects less than was asked for is worse than none. What is stored already is left alone.
func ValidateOldPodUnavailableBudget(old, obj *policyv1beta1.PodUnavailableBudget) field.ErrorList {
	const key = policyv1beta1.PodUnavailableBudgetProtectOperationsKey
	text := obj.Annotations[key]
	if old != nil && old.Annotations[key] == text {
		return nil
	}
	if _, err := policyv1beta1.ProtectOperationsOf(text); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(key), text, err.Error())}
	}
	return nil
}
