// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Convert_v1alpha1_CloneSet_To_v1beta1_CloneSet also moves what v1alpha1 keeps in labels and
// annotations into the fields that v1beta1 has for it. The labels and annotations stay.
func Convert_v1alpha1_CloneSet_To_v1beta1_CloneSet(in *CloneSet, out *v1beta1.CloneSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_CloneSet_To_v1beta1_CloneSet(in, out, s); err != nil {
		return err
	}
	if in.Labels[v1beta1.CloneSetScalingExcludePreparingDelete] == "true" {
		out.Spec.ScaleStrategy.ExcludePreparingDelete = true
	}
	out.Spec.UpdateStrategy = strategyUp(&in.Spec.UpdateStrategy, in.Annotations)
	return keepCloneSetUp(in, out)
}

// Convert_v1beta1_CloneSet_To_v1alpha1_CloneSet also writes the pre-download fields that are set into
// the annotations v1alpha1 has for them.
func Convert_v1beta1_CloneSet_To_v1alpha1_CloneSet(in *v1beta1.CloneSet, out *CloneSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_CloneSet_To_v1alpha1_CloneSet(in, out, s); err != nil {
		return err
	}
	if rolling := in.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		out.Annotations = preDownloadAnnotations(rolling.InPlaceUpdateStrategy, in.Annotations)
	}
	return keepCloneSetDown(in, out)
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
	*out = strategyUp(in, nil)
	return nil
}

// Convert_v1beta1_CloneSetUpdateStrategy_To_v1alpha1_CloneSetUpdateStrategy folds type and
// rollingUpdate into the flat strategy.
func Convert_v1beta1_CloneSetUpdateStrategy_To_v1alpha1_CloneSetUpdateStrategy(
	in *v1beta1.CloneSetUpdateStrategy, out *CloneSetUpdateStrategy, _ conversion.Scope,
) error {
	*out = strategyDown(in)
	return nil
}

// strategyUp splits the flat strategy, beside which annotations may stand.
func strategyUp(in *CloneSetUpdateStrategy, annotations map[string]string) v1beta1.CloneSetUpdateStrategy {
	if in.Type == OnDeleteCloneSetUpdateStrategyType {
		return v1beta1.CloneSetUpdateStrategy{Type: v1beta1.CloneSetOnDeleteUpdateStrategyType}
	}
	rolling := v1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: podUpdatePolicyOf(in.Type)}
	flatToRolling(in, &rolling)
	rolling.InPlaceUpdateStrategy = withPreDownload(rolling.InPlaceUpdateStrategy, annotations)
	return v1beta1.CloneSetUpdateStrategy{Type: v1beta1.CloneSetRollingUpdateStrategyType, RollingUpdate: &rolling}
}

func strategyDown(in *v1beta1.CloneSetUpdateStrategy) CloneSetUpdateStrategy {
	out := CloneSetUpdateStrategy{}
	if in.RollingUpdate != nil {
		rollingToFlat(in.RollingUpdate, &out)
	}
	out.Type = flatTypeOf(in)
	return out
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

// withPreDownload returns the strategy with the pre-download fields that annotations set; nil stays
// nil when they set none. Numbers that do not parse are skipped.
func withPreDownload(strategy *v1beta1.InPlaceUpdateStrategy, annotations map[string]string) *v1beta1.InPlaceUpdateStrategy {
	var found v1beta1.InPlaceUpdateStrategy
	if strategy != nil {
		found = *strategy
	}
	if value := annotations[v1beta1.ImagePreDownloadParallelismKey]; value != "" {
		parallelism := intstr.Parse(value)
		found.ImagePreDownloadParallelism = &parallelism
	}
	if seconds := int32Of(annotations[v1beta1.ImagePreDownloadTimeoutSecondsKey]); seconds != nil {
		found.ImagePreDownloadTimeoutSeconds = seconds
	}
	if pods := int32Of(annotations[v1beta1.ImagePreDownloadMinUpdatedReadyPodsKey]); pods != nil {
		found.ImagePreDownloadMinUpdatedReadyPods = pods
	}
	if strategy == nil && found == (v1beta1.InPlaceUpdateStrategy{}) {
		return nil
	}
	return &found
}

func int32Of(value string) *int32 {
	parsed, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return nil
	}
	number := int32(parsed)
	return &number
}

// preDownloadAnnotations returns the annotations with the pre-download fields that are set written
// in. The given map is not changed.
func preDownloadAnnotations(strategy *v1beta1.InPlaceUpdateStrategy, annotations map[string]string) map[string]string {
	if strategy == nil {
		return annotations
	}
	set := map[string]string{}
	if strategy.ImagePreDownloadParallelism != nil {
		set[v1beta1.ImagePreDownloadParallelismKey] = strategy.ImagePreDownloadParallelism.String()
	}
	if strategy.ImagePreDownloadTimeoutSeconds != nil {
		set[v1beta1.ImagePreDownloadTimeoutSecondsKey] = strconv.Itoa(int(*strategy.ImagePreDownloadTimeoutSeconds))
	}
	if strategy.ImagePreDownloadMinUpdatedReadyPods != nil {
		set[v1beta1.ImagePreDownloadMinUpdatedReadyPodsKey] = strconv.Itoa(int(*strategy.ImagePreDownloadMinUpdatedReadyPods))
	}
	if len(set) == 0 {
		return annotations
	}
	out := maps.Clone(annotations)
	if out == nil {
		return set
	}
	maps.Copy(out, set)
	return out
}
