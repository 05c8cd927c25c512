// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

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
