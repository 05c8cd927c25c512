// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/conversiondata"
)

// cloneSetOnlyAlpha is what v1alpha1 says of a CloneSet and v1beta1 cannot: flat fields beside OnDelete,
// pre-download fields beside their annotations.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type cloneSetOnlyAlpha struct {
	UpdateStrategy *CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`
}

// cloneSetOnlyBeta is what v1beta1 says of a CloneSet and v1alpha1 cannot. Its parts are independent:
// somebody who changes one of them through v1alpha1 leaves the others as they were.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type cloneSetOnlyBeta struct {
	ExcludePreparingDelete *bool                           `json:"excludePreparingDelete,omitempty"`
	UpdateStrategy         *v1beta1.CloneSetUpdateStrategy `json:"updateStrategy,omitempty"`
	PreDownload            *preDownload                    `json:"preDownload,omitempty"`
}

// preDownload is how v1beta1 tunes the pre-download: in fields, beside which v1alpha1's annotations may
// stand, which are theirs when they say the same and leftovers when they do not.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type preDownload struct {
	Fields      *v1beta1.InPlaceUpdateStrategy `json:"fields,omitempty"`
	Annotations map[string]string              `json:"annotations,omitempty"`
}

var preDownloadKeys = []string{
	v1beta1.ImagePreDownloadParallelismKey, v1beta1.ImagePreDownloadTimeoutSecondsKey, v1beta1.ImagePreDownloadMinUpdatedReadyPodsKey,
}

// preDownloadOf picks the fields and the annotations of the pre-download.
func preDownloadOf(strategy *v1beta1.CloneSetUpdateStrategy, annotations map[string]string) preDownload {
	out := preDownload{Annotations: preDownloadOnly(annotations)}
	if strategy.RollingUpdate == nil || strategy.RollingUpdate.InPlaceUpdateStrategy == nil {
		return out
	}
	fields := *strategy.RollingUpdate.InPlaceUpdateStrategy
	fields.GracePeriodSeconds = 0
	if fields != (v1beta1.InPlaceUpdateStrategy{}) {
		out.Fields = &fields
	}
	return out
}

func preDownloadOnly(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range preDownloadKeys {
		if value, present := annotations[key]; present {
			out[key] = value
		}
	}
	return out
}

// setPreDownload replaces the pre-download fields of a strategy, which it does not share with another.
func setPreDownload(strategy *v1beta1.CloneSetUpdateStrategy, fields *v1beta1.InPlaceUpdateStrategy) {
	if strategy.RollingUpdate == nil || (fields == nil && strategy.RollingUpdate.InPlaceUpdateStrategy == nil) {
		return
	}
	rolling := *strategy.RollingUpdate
	var tuned v1beta1.InPlaceUpdateStrategy
	if fields != nil {
		tuned = *fields
	}
	if rolling.InPlaceUpdateStrategy != nil {
		tuned.GracePeriodSeconds = rolling.InPlaceUpdateStrategy.GracePeriodSeconds
	}
	rolling.InPlaceUpdateStrategy = &tuned
	strategy.RollingUpdate = &rolling
}

// plain is a strategy without what is kept elsewhere, and with the words for what goes without saying.
func plain(in v1beta1.CloneSetUpdateStrategy) v1beta1.CloneSetUpdateStrategy {
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
	grace := v1beta1.InPlaceUpdateStrategy{}
	if rolling.InPlaceUpdateStrategy != nil {
		grace.GracePeriodSeconds = rolling.InPlaceUpdateStrategy.GracePeriodSeconds
	}
	rolling.InPlaceUpdateStrategy = &grace
	in.RollingUpdate = &rolling
	return in
}

// plainFlat is plain for v1alpha1.
func plainFlat(in CloneSetUpdateStrategy) CloneSetUpdateStrategy {
	if in.Type == "" {
		in.Type = RecreateCloneSetUpdateStrategyType
	}
	if in.InPlaceUpdateStrategy != nil && *in.InPlaceUpdateStrategy == (v1beta1.InPlaceUpdateStrategy{}) {
		in.InPlaceUpdateStrategy = nil
	}
	return in
}

// keepCloneSetUp brings back what v1beta1 had said and nobody changed since, and keeps what v1beta1 cannot
// say.
func keepCloneSetUp(in *CloneSet, out *v1beta1.CloneSet) error {
	var kept cloneSetOnlyBeta
	conversiondata.Take(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, &kept)
	if kept.ExcludePreparingDelete != nil {
		out.Spec.ScaleStrategy.ExcludePreparingDelete = *kept.ExcludePreparingDelete
	}
	now := preDownloadOf(&out.Spec.UpdateStrategy, in.Annotations)
	if kept.UpdateStrategy != nil && equality.Semantic.DeepEqual(plainFlat(strategyDown(kept.UpdateStrategy)), plainFlat(in.Spec.UpdateStrategy)) {
		out.Spec.UpdateStrategy = *kept.UpdateStrategy
	}
	if kept.PreDownload != nil && equality.Semantic.DeepEqual(kept.PreDownload.down(), now.Annotations) {
		now = *kept.PreDownload
		for _, key := range preDownloadKeys {
			conversiondata.Annotate(&out.ObjectMeta, key, conversiondata.Value(now.Annotations, key))
		}
	}
	setPreDownload(&out.Spec.UpdateStrategy, now.Fields)

	var only cloneSetOnlyAlpha
	if again := strategyDown(&out.Spec.UpdateStrategy); !equality.Semantic.DeepEqual(plainFlat(again), plainFlat(in.Spec.UpdateStrategy)) {
		only.UpdateStrategy = &in.Spec.UpdateStrategy
	}
	return conversiondata.Put(&out.ObjectMeta, SchemeGroupVersion.Version, only)
}

// down is the annotations as v1alpha1 has them.
func (p preDownload) down() map[string]string {
	return preDownloadOnly(preDownloadAnnotations(p.Fields, p.Annotations))
}

// keepCloneSetDown brings back what v1alpha1 had said and nobody changed since, and keeps what v1alpha1
// cannot say.
func keepCloneSetDown(in *v1beta1.CloneSet, out *CloneSet) error {
	var kept cloneSetOnlyAlpha
	conversiondata.Take(&out.ObjectMeta, SchemeGroupVersion.Version, &kept)
	if kept.UpdateStrategy != nil {
		up := strategyUp(kept.UpdateStrategy, in.Annotations)
		if equality.Semantic.DeepEqual(plain(up), plain(in.Spec.UpdateStrategy)) &&
			equality.Semantic.DeepEqual(preDownloadOf(&up, in.Annotations), preDownloadOf(&in.Spec.UpdateStrategy, in.Annotations)) {
			out.Spec.UpdateStrategy = *kept.UpdateStrategy
			for _, key := range preDownloadKeys {
				conversiondata.Annotate(&out.ObjectMeta, key, conversiondata.Value(in.Annotations, key))
			}
		}
	}

	var only cloneSetOnlyBeta
	if byLabel := in.Labels[v1beta1.CloneSetScalingExcludePreparingDelete] == "true"; byLabel != in.Spec.ScaleStrategy.ExcludePreparingDelete {
		only.ExcludePreparingDelete = &in.Spec.ScaleStrategy.ExcludePreparingDelete
	}
	again := strategyUp(&out.Spec.UpdateStrategy, out.Annotations)
	if !equality.Semantic.DeepEqual(plain(again), plain(in.Spec.UpdateStrategy)) {
		only.UpdateStrategy = &in.Spec.UpdateStrategy
	}
	before := preDownloadOf(&in.Spec.UpdateStrategy, in.Annotations)
	if !equality.Semantic.DeepEqual(preDownloadOf(&again, out.Annotations), before) {
		only.PreDownload = &before
	}
	return conversiondata.Put(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, only)
}
