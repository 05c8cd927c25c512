// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_CloneSet_To_v1beta1_CloneSet also moves what v1alpha1 keeps in labels and
// annotations into the fields that v1beta1 has for it. The labels and annotations stay.
func Convert_v1alpha1_CloneSet_To_v1beta1_CloneSet(in *CloneSet, out *v1beta1.CloneSet, s conversion.Scope) error {
	converted := way(s, cloneSetUp, cloneSetDown)
	converted.Back = func(up *v1beta1.CloneSet, down *CloneSet) error {
		err := cloneSetDown(up, down, s)
		if spelled := &down.Spec.UpdateStrategy; equality.Semantic.DeepEqual(spelledFlat(*spelled), spelledFlat(in.Spec.UpdateStrategy)) {
			*spelled = in.Spec.UpdateStrategy // what goes without saying is not kept
		}
		return err
	}
	return preserve.Through(converted, in, out)
}

// Convert_v1beta1_CloneSet_To_v1alpha1_CloneSet also writes the pre-download fields that are set into
// the annotations v1alpha1 has for them. Flat fields that were kept beside OnDelete come back beside
// OnDelete only: a strategy that is changed is wholly the one it is changed to.
func Convert_v1beta1_CloneSet_To_v1alpha1_CloneSet(in *v1beta1.CloneSet, out *CloneSet, s conversion.Scope) error {
	if err := cloneSetDownAndKept(in, out, s); err != nil {
		return err
	}
	if _, kept := in.Annotations[preserve.Annotation]; !kept {
		return nil
	}
	var again v1beta1.CloneSet
	if err := cloneSetUp(out, &again, s); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(spelledOut(again.Spec.UpdateStrategy), spelledOut(in.Spec.UpdateStrategy)) {
		return nil
	}
	forgetful := *in
	forgetful.Annotations = preserve.Without(in.Annotations, preserve.Annotation)
	*out = CloneSet{}
	return cloneSetDownAndKept(&forgetful, out, s)
}

func cloneSetDownAndKept(in *v1beta1.CloneSet, out *CloneSet, s conversion.Scope) error {
	converted := way(s, cloneSetDown, cloneSetUp)
	converted.Back = func(down *CloneSet, up *v1beta1.CloneSet) error {
		err := cloneSetUp(down, up, s)
		if spelled := &up.Spec.UpdateStrategy; equality.Semantic.DeepEqual(spelledOut(*spelled), spelledOut(in.Spec.UpdateStrategy)) {
			*spelled = in.Spec.UpdateStrategy
		}
		return err
	}
	return preserve.Through(converted, in, out)
}

func cloneSetUp(in *CloneSet, out *v1beta1.CloneSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_CloneSet_To_v1beta1_CloneSet(in, out, s); err != nil {
		return err
	}
	if in.Labels[v1beta1.CloneSetScalingExcludePreparingDelete] == "true" {
		out.Spec.ScaleStrategy.ExcludePreparingDelete = true
	}
	if rolling := out.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		rolling.InPlaceUpdateStrategy = withPreDownload(rolling.InPlaceUpdateStrategy, in.Annotations)
	}
	return nil
}

func cloneSetDown(in *v1beta1.CloneSet, out *CloneSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_CloneSet_To_v1alpha1_CloneSet(in, out, s); err != nil {
		return err
	}
	if rolling := in.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		out.Annotations = preDownloadAnnotations(rolling.InPlaceUpdateStrategy, in.Annotations)
	}
	return nil
}

// spelledOut is a strategy with the words for what goes without saying.
func spelledOut(in v1beta1.CloneSetUpdateStrategy) v1beta1.CloneSetUpdateStrategy {
	if in.Type == "" {
		in.Type = v1beta1.CloneSetRollingUpdateStrategyType
	}
	if in.RollingUpdate == nil && in.Type == v1beta1.CloneSetOnDeleteUpdateStrategyType {
		return in
	}
	var rolling v1beta1.RollingUpdateCloneSetStrategy
	if in.RollingUpdate != nil {
		rolling = *in.RollingUpdate
	}
	if rolling.PodUpdatePolicy == "" {
		rolling.PodUpdatePolicy = v1beta1.RecreatePodUpdateStrategyType
	}
	if rolling.InPlaceUpdateStrategy == nil {
		rolling.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{}
	}
	in.RollingUpdate = &rolling
	return in
}

// spelledFlat is spelledOut for v1alpha1.
func spelledFlat(in CloneSetUpdateStrategy) CloneSetUpdateStrategy {
	if in.Type == "" {
		in.Type = RecreateCloneSetUpdateStrategyType
	}
	if in.InPlaceUpdateStrategy == nil {
		in.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{}
	}
	return in
}

// Convert_v1alpha1_CloneSetScaleStrategy_To_v1beta1_CloneSetScaleStrategy turns disablePVCReuse round:
// the default differs between the versions.
func Convert_v1alpha1_CloneSetScaleStrategy_To_v1beta1_CloneSetScaleStrategy(
	in *CloneSetScaleStrategy, out *v1beta1.CloneSetScaleStrategy, s conversion.Scope,
) error {
	out.EnablePVCReuse = !in.DisablePVCReuse
	return autoConvert_v1alpha1_CloneSetScaleStrategy_To_v1beta1_CloneSetScaleStrategy(in, out, s)
}

// Convert_v1beta1_CloneSetScaleStrategy_To_v1alpha1_CloneSetScaleStrategy turns enablePVCReuse round.
func Convert_v1beta1_CloneSetScaleStrategy_To_v1alpha1_CloneSetScaleStrategy(
	in *v1beta1.CloneSetScaleStrategy, out *CloneSetScaleStrategy, s conversion.Scope,
) error {
	out.DisablePVCReuse = !in.EnablePVCReuse
	return autoConvert_v1beta1_CloneSetScaleStrategy_To_v1alpha1_CloneSetScaleStrategy(in, out, s)
}

// Convert_v1alpha1_CloneSetUpdateStrategy_To_v1beta1_CloneSetUpdateStrategy splits the flat strategy
// into type and rollingUpdate. OnDelete has no rollingUpdate: the flat fields beside it are left to the
// whole object.
func Convert_v1alpha1_CloneSetUpdateStrategy_To_v1beta1_CloneSetUpdateStrategy(
	in *CloneSetUpdateStrategy, out *v1beta1.CloneSetUpdateStrategy, _ conversion.Scope,
) error {
	if in.Type == OnDeleteCloneSetUpdateStrategyType {
		out.Type = v1beta1.CloneSetOnDeleteUpdateStrategyType
		out.RollingUpdate = nil
		return nil
	}
	out.Type = v1beta1.CloneSetRollingUpdateStrategyType
	out.RollingUpdate = &v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: podUpdatePolicyOf(in.Type)}
	flatToRolling(in, out.RollingUpdate)
	return nil
}

// Convert_v1beta1_CloneSetUpdateStrategy_To_v1alpha1_CloneSetUpdateStrategy folds type and
// rollingUpdate into the flat strategy.
func Convert_v1beta1_CloneSetUpdateStrategy_To_v1alpha1_CloneSetUpdateStrategy(
	in *v1beta1.CloneSetUpdateStrategy, out *CloneSetUpdateStrategy, _ conversion.Scope,
) error {
	if in.RollingUpdate != nil {
		rollingToFlat(in.RollingUpdate, out)
	}
	out.Type = flatTypeOf(in)
	return nil
}

func flatToRolling(in *CloneSetUpdateStrategy, out *v1beta1.RollingUpdateCloneSetStrategy) {
	out.Partition = in.Partition
	out.MaxUnavailable = in.MaxUnavailable
	out.MaxSurge = in.MaxSurge
	out.Paused = in.Paused
	out.PriorityStrategy = in.PriorityStrategy
	out.ScatterStrategy = in.ScatterStrategy
	out.InPlaceUpdateStrategy = in.InPlaceUpdateStrategy
}

func rollingToFlat(in *v1beta1.RollingUpdateCloneSetStrategy, out *CloneSetUpdateStrategy) {
	out.Partition = in.Partition
	out.MaxUnavailable = in.MaxUnavailable
	out.MaxSurge = in.MaxSurge
	out.Paused = in.Paused
	out.PriorityStrategy = in.PriorityStrategy
	out.ScatterStrategy = in.ScatterStrategy
	if strategy := in.InPlaceUpdateStrategy; strategy != nil && *strategy != (v1beta1.InPlaceUpdateStrategy{}) {
		out.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: strategy.GracePeriodSeconds}
	}
}

func podUpdatePolicyOf(flat CloneSetUpdateStrategyType) v1beta1.PodUpdateStrategyType {
	switch flat {
	case InPlaceIfPossibleCloneSetUpdateStrategyType:
		return v1beta1.InPlaceIfPossiblePodUpdateStrategyType
	case InPlaceOnlyCloneSetUpdateStrategyType:
		return v1beta1.InPlaceOnlyPodUpdateStrategyType
	case RecreateCloneSetUpdateStrategyType, OnDeleteCloneSetUpdateStrategyType:
		return v1beta1.RecreatePodUpdateStrategyType
	default:
		return v1beta1.RecreatePodUpdateStrategyType
	}
}

func flatTypeOf(in *v1beta1.CloneSetUpdateStrategy) CloneSetUpdateStrategyType {
	if in.Type == v1beta1.CloneSetOnDeleteUpdateStrategyType {
		return OnDeleteCloneSetUpdateStrategyType
	}
	if in.RollingUpdate == nil {
		return RecreateCloneSetUpdateStrategyType
	}
	switch in.RollingUpdate.PodUpdatePolicy {
	case v1beta1.InPlaceIfPossiblePodUpdateStrategyType:
		return InPlaceIfPossibleCloneSetUpdateStrategyType
	case v1beta1.InPlaceOnlyPodUpdateStrategyType:
		return InPlaceOnlyCloneSetUpdateStrategyType
	case v1beta1.RecreatePodUpdateStrategyType:
		return RecreateCloneSetUpdateStrategyType
	default:
		return RecreateCloneSetUpdateStrategyType
	}
}
