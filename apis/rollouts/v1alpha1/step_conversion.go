// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strconv"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// Convert_v1alpha1_CanaryStep_To_v1beta1_CanaryStep gives a step that says no replicas as many as its weight.
func Convert_v1alpha1_CanaryStep_To_v1beta1_CanaryStep(in *CanaryStep, out *v1beta1.CanaryStep, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_CanaryStep_To_v1beta1_CanaryStep(in, out, s); err != nil {
		return err
	}
	if in.Replicas == nil && in.Weight != nil {
		replicas := intstr.FromString(percent(*in.Weight))
		out.Replicas = &replicas
	}
	return nil
}

// Convert_v1alpha1_TrafficRoutingStrategy_To_v1beta1_TrafficRoutingStrategy turns weight into a percentage.
func Convert_v1alpha1_TrafficRoutingStrategy_To_v1beta1_TrafficRoutingStrategy(
	in *TrafficRoutingStrategy, out *v1beta1.TrafficRoutingStrategy, s conversion.Scope,
) error {
	out.Traffic = nil
	if in.Weight != nil {
		traffic := percent(*in.Weight)
		out.Traffic = &traffic
	}
	return autoConvert_v1alpha1_TrafficRoutingStrategy_To_v1beta1_TrafficRoutingStrategy(in, out, s)
}

// Convert_v1beta1_TrafficRoutingStrategy_To_v1alpha1_TrafficRoutingStrategy turns traffic into a weight; what
// is no whole percentage becomes none.
func Convert_v1beta1_TrafficRoutingStrategy_To_v1alpha1_TrafficRoutingStrategy(
	in *v1beta1.TrafficRoutingStrategy, out *TrafficRoutingStrategy, s conversion.Scope,
) error {
	out.Weight = nil
	if in.Traffic != nil {
		traffic := intstr.FromString(*in.Traffic)
		if weight, err := intstr.GetScaledValueFromIntOrPercent(&traffic, 100, true); err == nil && int(int32(weight)) == weight {
			number := int32(weight)
			out.Weight = &number
		}
	}
	return autoConvert_v1beta1_TrafficRoutingStrategy_To_v1alpha1_TrafficRoutingStrategy(in, out, s)
}

func percent(weight int32) string { return strconv.Itoa(int(weight)) + "%" }

// Convert_v1beta1_HTTPRouteMatch_To_v1alpha1_HTTPRouteMatch leaves path and queryParams to the conversion of
// the object.
func Convert_v1beta1_HTTPRouteMatch_To_v1alpha1_HTTPRouteMatch(in *v1beta1.HTTPRouteMatch, out *HTTPRouteMatch, s conversion.Scope) error {
	return autoConvert_v1beta1_HTTPRouteMatch_To_v1alpha1_HTTPRouteMatch(in, out, s)
}
