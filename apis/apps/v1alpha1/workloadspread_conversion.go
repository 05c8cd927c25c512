// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/conversiondata"
)

// subsetConditions are the conditions of subsets that the other version cannot say in full, by the place
// of the subset: the version of the pods, if any, and the index.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type subsetConditions[C any] struct {
	Conditions map[string][]C `json:"conditions,omitempty"`
}

// keep keeps conditions that are not the same after the way there and back.
func (k *subsetConditions[C]) keep(place string, conditions, again []C) {
	if equality.Semantic.DeepEqual(conditions, again) {
		return
	}
	if k.Conditions == nil {
		k.Conditions = map[string][]C{}
	}
	k.Conditions[place] = conditions
}

// Convert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread also brings back what only conditions of
// v1beta1 say, and keeps what only those of v1alpha1 say.
func Convert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread(in *WorkloadSpread, out *v1beta1.WorkloadSpread, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread(in, out, s); err != nil {
		return err
	}
	var kept subsetConditions[metav1.Condition]
	conversiondata.Take(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, &kept)
	var only subsetConditions[WorkloadSpreadSubsetCondition]
	convert := func(place string, from []WorkloadSpreadSubsetStatus, to []v1beta1.WorkloadSpreadSubsetStatus) {
		for i := range from {
			at := place + "/" + strconv.Itoa(i)
			if before, found := kept.Conditions[at]; found && equality.Semantic.DeepEqual(conditionsDown(before), from[i].Conditions) {
				to[i].Conditions = before
			}
			only.keep(at, from[i].Conditions, conditionsDown(to[i].Conditions))
		}
	}
	convert("", in.Status.SubsetStatuses, out.Status.SubsetStatuses)
	for version, statuses := range in.Status.VersionedSubsetStatuses {
		convert(version, statuses, out.Status.VersionedSubsetStatuses[version])
	}
	return conversiondata.Put(&out.ObjectMeta, SchemeGroupVersion.Version, only)
}

// Convert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread also brings back what only conditions of
// v1alpha1 say, and keeps what only those of v1beta1 say.
func Convert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread(in *v1beta1.WorkloadSpread, out *WorkloadSpread, s conversion.Scope) error {
	if err := autoConvert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread(in, out, s); err != nil {
		return err
	}
	var kept subsetConditions[WorkloadSpreadSubsetCondition]
	conversiondata.Take(&out.ObjectMeta, SchemeGroupVersion.Version, &kept)
	var only subsetConditions[metav1.Condition]
	convert := func(place string, from []v1beta1.WorkloadSpreadSubsetStatus, to []WorkloadSpreadSubsetStatus) {
		for i := range from {
			at := place + "/" + strconv.Itoa(i)
			if before, found := kept.Conditions[at]; found && equality.Semantic.DeepEqual(conditionsUp(before), from[i].Conditions) {
				to[i].Conditions = before
			}
			only.keep(at, from[i].Conditions, conditionsUp(to[i].Conditions))
		}
	}
	convert("", in.Status.SubsetStatuses, out.Status.SubsetStatuses)
	for version, statuses := range in.Status.VersionedSubsetStatuses {
		convert(version, statuses, out.Status.VersionedSubsetStatuses[version])
	}
	return conversiondata.Put(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, only)
}

func conditionsUp(in []WorkloadSpreadSubsetCondition) []metav1.Condition {
	var out []metav1.Condition
	for i := range in {
		out = append(out, conditionUp(&in[i]))
	}
	return out
}

func conditionsDown(in []metav1.Condition) []WorkloadSpreadSubsetCondition {
	var out []WorkloadSpreadSubsetCondition
	for i := range in {
		out = append(out, conditionDown(&in[i]))
	}
	return out
}

// conditionUp gives a reason to a condition that has none: v1beta1 wants one.
func conditionUp(in *WorkloadSpreadSubsetCondition) metav1.Condition {
	out := metav1.Condition{
		Type: in.Type, Status: metav1.ConditionStatus(in.Status), LastTransitionTime: in.LastTransitionTime,
		Reason: in.Reason, Message: in.Message,
	}
	if out.Reason == "" {
		out.Reason = v1beta1.WorkloadSpreadReasonUnknown
	}
	return out
}

func conditionDown(in *metav1.Condition) WorkloadSpreadSubsetCondition {
	return WorkloadSpreadSubsetCondition{
		Type: in.Type, Status: corev1.ConditionStatus(in.Status), LastTransitionTime: in.LastTransitionTime,
		Reason: in.Reason, Message: in.Message,
	}
}

// Convert_v1alpha1_WorkloadSpreadSubsetCondition_To_v1_Condition gives a reason to a condition that has
// none.
func Convert_v1alpha1_WorkloadSpreadSubsetCondition_To_v1_Condition(in *WorkloadSpreadSubsetCondition, out *metav1.Condition, _ conversion.Scope) error {
	*out = conditionUp(in)
	return nil
}

// Convert_v1_Condition_To_v1alpha1_WorkloadSpreadSubsetCondition drops observedGeneration.
func Convert_v1_Condition_To_v1alpha1_WorkloadSpreadSubsetCondition(in *metav1.Condition, out *WorkloadSpreadSubsetCondition, _ conversion.Scope) error {
	*out = conditionDown(in)
	return nil
}

// Convert_v1alpha1_WorkloadSpreadSubset_To_v1beta1_WorkloadSpreadSubset renames the node selectors.
func Convert_v1alpha1_WorkloadSpreadSubset_To_v1beta1_WorkloadSpreadSubset(in *WorkloadSpreadSubset, out *v1beta1.WorkloadSpreadSubset, s conversion.Scope) error {
	out.RequiredNodeSelector = in.RequiredNodeSelectorTerm
	out.PreferredNodeSelector = in.PreferredNodeSelectorTerms
	return autoConvert_v1alpha1_WorkloadSpreadSubset_To_v1beta1_WorkloadSpreadSubset(in, out, s)
}

// Convert_v1beta1_WorkloadSpreadSubset_To_v1alpha1_WorkloadSpreadSubset renames the node selectors.
func Convert_v1beta1_WorkloadSpreadSubset_To_v1alpha1_WorkloadSpreadSubset(in *v1beta1.WorkloadSpreadSubset, out *WorkloadSpreadSubset, s conversion.Scope) error {
	out.RequiredNodeSelectorTerm = in.RequiredNodeSelector
	out.PreferredNodeSelectorTerms = in.PreferredNodeSelector
	return autoConvert_v1beta1_WorkloadSpreadSubset_To_v1alpha1_WorkloadSpreadSubset(in, out, s)
}

// Convert_v1alpha1_WorkloadSpreadStatus_To_v1beta1_WorkloadSpreadStatus also converts the statuses by
// version: conversion-gen writes no maps of lists.
func Convert_v1alpha1_WorkloadSpreadStatus_To_v1beta1_WorkloadSpreadStatus(in *WorkloadSpreadStatus, out *v1beta1.WorkloadSpreadStatus, s conversion.Scope) error {
	versioned, err := mapOfLists(in.VersionedSubsetStatuses, s, Convert_v1alpha1_WorkloadSpreadSubsetStatus_To_v1beta1_WorkloadSpreadSubsetStatus)
	if err != nil {
		return err
	}
	out.VersionedSubsetStatuses = versioned
	return autoConvert_v1alpha1_WorkloadSpreadStatus_To_v1beta1_WorkloadSpreadStatus(in, out, s)
}

// Convert_v1beta1_WorkloadSpreadStatus_To_v1alpha1_WorkloadSpreadStatus also converts the statuses by
// version: conversion-gen writes no maps of lists.
func Convert_v1beta1_WorkloadSpreadStatus_To_v1alpha1_WorkloadSpreadStatus(in *v1beta1.WorkloadSpreadStatus, out *WorkloadSpreadStatus, s conversion.Scope) error {
	versioned, err := mapOfLists(in.VersionedSubsetStatuses, s, Convert_v1beta1_WorkloadSpreadSubsetStatus_To_v1alpha1_WorkloadSpreadSubsetStatus)
	if err != nil {
		return err
	}
	out.VersionedSubsetStatuses = versioned
	return autoConvert_v1beta1_WorkloadSpreadStatus_To_v1alpha1_WorkloadSpreadStatus(in, out, s)
}

func mapOfLists[In, Out any](in map[string][]In, s conversion.Scope, convert func(*In, *Out, conversion.Scope) error) (map[string][]Out, error) {
	if in == nil {
		return nil, nil
	}
	out := make(map[string][]Out, len(in))
	for key, list := range in {
		if list == nil {
			out[key] = nil
			continue
		}
		converted := make([]Out, len(list))
		for i := range list {
			if err := convert(&list[i], &converted[i], s); err != nil {
				return nil, err
			}
		}
		out[key] = converted
	}
	return out, nil
}
