// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread also brings back what only conditions of
// v1beta1 say, and keeps what only those of v1alpha1 say.
func Convert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread(in *WorkloadSpread, out *v1beta1.WorkloadSpread, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread, autoConvert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread), in, out)
}

// Convert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread also brings back what only conditions of
// v1alpha1 say, and keeps what only those of v1beta1 say.
func Convert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread(in *v1beta1.WorkloadSpread, out *WorkloadSpread, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1beta1_WorkloadSpread_To_v1alpha1_WorkloadSpread, autoConvert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread), in, out)
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
