// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateOldCloneSet is ValidateCloneSet for an object sent as v1alpha1, with the rules that only that
// version ever had. Complaints name the fields as that version has them. Type OnDelete is let in, which
// OpenKruise's v1alpha1 refuses though it can be converted: a v1beta1 object that has it could otherwise
// not be written through v1alpha1 at all.
func ValidateOldCloneSet(old, obj *v1alpha1.CloneSet) field.ErrorList {
	stored, err := storedCloneSet(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	p := oldCloneSet(obj)
	if old == nil {
		return append(flattened(ValidateCloneSet(nil, stored)), p.list...)
	}
	before, err := storedCloneSet(old)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	all := append(flattened(ValidateCloneSet(before, stored)), p.since(oldCloneSet(old).list)...)
	if obj.Spec.UpdateStrategy.Type == v1alpha1.InPlaceOnlyCloneSetUpdateStrategyType &&
		!onlyImagesDiffer(&old.Spec.Template.Spec, &obj.Spec.Template.Spec) {
		all = append(all, field.Forbidden(field.NewPath("spec", "template", "spec"),
			"with updateStrategy.type InPlaceOnly only the images of containers can be changed"))
	}
	return all
}

// CloneSetPods are the pods that newly listed names of scaleStrategy.podsToDelete stand for; nil where there is none.
type CloneSetPods map[string]*corev1.Pod

// ValidatePodsToDelete wants names that were not listed before to be those of pods of this very set that are not on
// their way out already. Only v1alpha1 ever asked for that.
func ValidatePodsToDelete(old, obj *v1alpha1.CloneSet, pods CloneSetPods) field.ErrorList {
	p := &problems{}
	path := field.NewPath("spec", "scaleStrategy", "podsToDelete")
	for i, name := range obj.Spec.ScaleStrategy.PodsToDelete {
		if old != nil && slices.Contains(old.Spec.ScaleStrategy.PodsToDelete, name) {
			continue
		}
		pod := pods[name]
		switch {
		case pod == nil:
			p.add(field.ErrorList{field.NotFound(path.Index(i), name)})
		case pod.DeletionTimestamp != nil:
			p.invalid(path.Index(i), name, "is being deleted already")
		case !metav1.IsControlledBy(pod, obj):
			p.invalid(path.Index(i), name, "is no pod of this CloneSet")
		}
	}
	return p.list
}

func storedCloneSet(in *v1alpha1.CloneSet) (*v1beta1.CloneSet, error) {
	out := &v1beta1.CloneSet{}
	err := v1alpha1.Convert_v1alpha1_CloneSet_To_v1beta1_CloneSet(in, out, nil)
	return out, err
}

// oldCloneSet checks what only v1alpha1 checks.
func oldCloneSet(obj *v1alpha1.CloneSet) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	if strategy := obj.Spec.UpdateStrategy.Type; strategy != "" {
		oneOf(p, path.Child("updateStrategy", "type"), strategy, v1alpha1.RecreateCloneSetUpdateStrategyType,
			v1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, v1alpha1.InPlaceOnlyCloneSetUpdateStrategyType,
			v1alpha1.OnDeleteCloneSetUpdateStrategyType)
	}
	deadline := obj.Spec.ProgressDeadlineSeconds
	if deadline == nil {
		return p
	}
	at := path.Child("progressDeadlineSeconds")
	p.notNegative(at, int64(*deadline))
	if *deadline != math.MaxInt32 && *deadline <= obj.Spec.MinReadySeconds {
		p.invalid(at, *deadline, "must be greater than minReadySeconds")
	}
	return p
}

// flattened names fields as v1alpha1 has them.
func flattened(list field.ErrorList) field.ErrorList {
	for _, problem := range list {
		problem.Field = strings.Replace(problem.Field, ".rollingUpdate.podUpdatePolicy", ".type", 1)
		problem.Field = strings.Replace(problem.Field, ".rollingUpdate.", ".", 1)
	}
	return list
}

// onlyImagesDiffer says whether two pod specs are the same but for the images of their containers.
func onlyImagesDiffer(old, spec *corev1.PodSpec) bool {
	if len(old.Containers) != len(spec.Containers) {
		return false
	}
	same := spec.DeepCopy()
	for i := range same.Containers {
		same.Containers[i].Image = old.Containers[i].Image
	}
	return equality.Semantic.DeepEqual(old, same)
}
