// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/preserve"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// Convert_v1alpha1_Rollout_To_v1beta1_Rollout also moves what v1alpha1 keeps in annotations into the fields
// that v1beta1 has for it, and restores what v1alpha1 cannot say.
func Convert_v1alpha1_Rollout_To_v1beta1_Rollout(in *Rollout, out *v1beta1.Rollout, s conversion.Scope) error {
	return preserve.Through(preserve.Way[Rollout, v1beta1.Rollout]{
		Forth:   func(in *Rollout, out *v1beta1.Rollout) error { return rolloutUp(in, out, s) },
		Back:    func(in *v1beta1.Rollout, out *Rollout) error { return rolloutDown(in, out, s) },
		Here:    v1beta1.PreservedAnnotation,
		Derived: []string{v1beta1.RolloutStyleAnnotation},
	}, in, out)
}

// Convert_v1beta1_Rollout_To_v1alpha1_Rollout also writes the annotations that v1alpha1 has instead of fields,
// and keeps what it cannot say: strategy blueGreen, matches of paths and query parameters.
func Convert_v1beta1_Rollout_To_v1alpha1_Rollout(in *v1beta1.Rollout, out *Rollout, s conversion.Scope) error {
	return preserve.Through(preserve.Way[v1beta1.Rollout, Rollout]{
		Forth:   func(in *v1beta1.Rollout, out *Rollout) error { return rolloutDown(in, out, s) },
		Back:    func(in *Rollout, out *v1beta1.Rollout) error { return rolloutUp(in, out, s) },
		There:   v1beta1.PreservedAnnotation,
		Derived: []string{v1beta1.RolloutStyleAnnotation},
	}, in, out)
}

func rolloutUp(in *Rollout, out *v1beta1.Rollout, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_Rollout_To_v1beta1_Rollout(in, out, s); err != nil {
		return err
	}
	canary := out.Spec.Strategy.Canary
	if canary == nil {
		return nil
	}
	canary.EnableExtraWorkloadForCanary = !isPartition(in.Annotations)
	if ref := in.Annotations[v1beta1.TrafficRoutingAnnotation]; ref != "" {
		canary.TrafficRoutingRef = ref
		out.Annotations = preserve.Without(in.Annotations, v1beta1.TrafficRoutingAnnotation)
	}
	return nil
}

func rolloutDown(in *v1beta1.Rollout, out *Rollout, s conversion.Scope) error {
	if err := autoConvert_v1beta1_Rollout_To_v1alpha1_Rollout(in, out, s); err != nil {
		return err
	}
	canary := in.Spec.Strategy.Canary
	if canary == nil {
		return nil
	}
	style := v1beta1.PartitionRollingStyle
	if canary.EnableExtraWorkloadForCanary {
		style = v1beta1.CanaryRollingStyle
	}
	if said := in.Annotations[v1beta1.RolloutStyleAnnotation]; said == "" || isPartition(in.Annotations) == canary.EnableExtraWorkloadForCanary {
		out.Annotations = preserve.With(out.Annotations, v1beta1.RolloutStyleAnnotation, strings.ToLower(string(style)))
	}
	if canary.TrafficRoutingRef != "" {
		out.Annotations = preserve.With(out.Annotations, v1beta1.TrafficRoutingAnnotation, canary.TrafficRoutingRef)
	}
	return nil
}

// isPartition says whether annotations ask for style partition; all else means canary.
func isPartition(annotations map[string]string) bool {
	return strings.EqualFold(annotations[v1beta1.RolloutStyleAnnotation], string(v1beta1.PartitionRollingStyle))
}

// Convert_v1alpha1_RolloutSpec_To_v1beta1_RolloutSpec takes the workload out of objectRef.
func Convert_v1alpha1_RolloutSpec_To_v1beta1_RolloutSpec(in *RolloutSpec, out *v1beta1.RolloutSpec, s conversion.Scope) error {
	targetUp(&in.ObjectRef, &out.WorkloadRef)
	return autoConvert_v1alpha1_RolloutSpec_To_v1beta1_RolloutSpec(in, out, s)
}

// Convert_v1beta1_RolloutSpec_To_v1alpha1_RolloutSpec puts the workload into objectRef.
func Convert_v1beta1_RolloutSpec_To_v1alpha1_RolloutSpec(in *v1beta1.RolloutSpec, out *RolloutSpec, s conversion.Scope) error {
	targetDown(&in.WorkloadRef, &out.ObjectRef)
	return autoConvert_v1beta1_RolloutSpec_To_v1alpha1_RolloutSpec(in, out, s)
}

func targetUp(in *WorkloadTarget, out *v1beta1.ObjectRef) {
	*out = v1beta1.ObjectRef{}
	if in.WorkloadRef != nil {
		*out = *in.WorkloadRef
	}
}

func targetDown(in *v1beta1.ObjectRef, out *WorkloadTarget) {
	out.WorkloadRef = nil
	if *in != (v1beta1.ObjectRef{}) {
		ref := *in
		out.WorkloadRef = &ref
	}
}

// Convert_v1beta1_RolloutStrategy_To_v1alpha1_RolloutStrategy leaves blueGreen to the conversion of the object.
func Convert_v1beta1_RolloutStrategy_To_v1alpha1_RolloutStrategy(in *v1beta1.RolloutStrategy, out *RolloutStrategy, s conversion.Scope) error {
	return autoConvert_v1beta1_RolloutStrategy_To_v1alpha1_RolloutStrategy(in, out, s)
}

// Convert_v1beta1_CanaryStrategy_To_v1alpha1_CanaryStrategy leaves the annotations to the conversion of the
// object.
func Convert_v1beta1_CanaryStrategy_To_v1alpha1_CanaryStrategy(in *v1beta1.CanaryStrategy, out *CanaryStrategy, s conversion.Scope) error {
	return autoConvert_v1beta1_CanaryStrategy_To_v1alpha1_CanaryStrategy(in, out, s)
}

// Convert_v1alpha1_RolloutStatus_To_v1beta1_RolloutStatus mirrors the current step at the top.
func Convert_v1alpha1_RolloutStatus_To_v1beta1_RolloutStatus(in *RolloutStatus, out *v1beta1.RolloutStatus, s conversion.Scope) error {
	if in.CanaryStatus != nil {
		out.CurrentStepIndex = in.CanaryStatus.CurrentStepIndex
		out.CurrentStepState = in.CanaryStatus.CurrentStepState
	}
	return autoConvert_v1alpha1_RolloutStatus_To_v1beta1_RolloutStatus(in, out, s)
}

// Convert_v1beta1_RolloutStatus_To_v1alpha1_RolloutStatus leaves blueGreenStatus to the conversion of the
// object.
func Convert_v1beta1_RolloutStatus_To_v1alpha1_RolloutStatus(in *v1beta1.RolloutStatus, out *RolloutStatus, s conversion.Scope) error {
	return autoConvert_v1beta1_RolloutStatus_To_v1alpha1_RolloutStatus(in, out, s)
}
