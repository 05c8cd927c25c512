// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/preserve"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// Convert_v1alpha1_BatchRelease_To_v1beta1_BatchRelease lets the annotation by which v1alpha1 says the rolling
// style win over the field.
func Convert_v1alpha1_BatchRelease_To_v1beta1_BatchRelease(in *BatchRelease, out *v1beta1.BatchRelease, s conversion.Scope) error {
	return preserve.Through(preserve.Way[BatchRelease, v1beta1.BatchRelease]{
		Forth:   func(in *BatchRelease, out *v1beta1.BatchRelease) error { return releaseUp(in, out, s) },
		Back:    func(in *v1beta1.BatchRelease, out *BatchRelease) error { return releaseDown(in, out, s) },
		Here:    v1beta1.PreservedAnnotation,
		Derived: []string{v1beta1.RolloutStyleAnnotation},
	}, in, out)
}

// Convert_v1beta1_BatchRelease_To_v1alpha1_BatchRelease also writes the rolling style into an annotation.
func Convert_v1beta1_BatchRelease_To_v1alpha1_BatchRelease(in *v1beta1.BatchRelease, out *BatchRelease, s conversion.Scope) error {
	return preserve.Through(preserve.Way[v1beta1.BatchRelease, BatchRelease]{
		Forth:   func(in *v1beta1.BatchRelease, out *BatchRelease) error { return releaseDown(in, out, s) },
		Back:    func(in *BatchRelease, out *v1beta1.BatchRelease) error { return releaseUp(in, out, s) },
		There:   v1beta1.PreservedAnnotation,
		Derived: []string{v1beta1.RolloutStyleAnnotation},
	}, in, out)
}

func releaseUp(in *BatchRelease, out *v1beta1.BatchRelease, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_BatchRelease_To_v1beta1_BatchRelease(in, out, s); err != nil {
		return err
	}
	said := in.Annotations[v1beta1.RolloutStyleAnnotation]
	for _, style := range []v1beta1.RollingStyleType{
		v1beta1.PartitionRollingStyle, v1beta1.CanaryRollingStyle, v1beta1.BlueGreenRollingStyle,
	} {
		if strings.EqualFold(said, string(style)) {
			out.Spec.ReleasePlan.RollingStyle = style
		}
	}
	return nil
}

func releaseDown(in *v1beta1.BatchRelease, out *BatchRelease, s conversion.Scope) error {
	if err := autoConvert_v1beta1_BatchRelease_To_v1alpha1_BatchRelease(in, out, s); err != nil {
		return err
	}
	style := string(in.Spec.ReleasePlan.RollingStyle)
	if style != "" && !strings.EqualFold(in.Annotations[v1beta1.RolloutStyleAnnotation], style) {
		out.Annotations = preserve.With(in.Annotations, v1beta1.RolloutStyleAnnotation, strings.ToLower(style))
	}
	return nil
}

// Convert_v1alpha1_BatchReleaseSpec_To_v1beta1_BatchReleaseSpec takes the workload out of targetReference.
func Convert_v1alpha1_BatchReleaseSpec_To_v1beta1_BatchReleaseSpec(in *BatchReleaseSpec, out *v1beta1.BatchReleaseSpec, s conversion.Scope) error {
	targetUp(&in.TargetRef, &out.WorkloadRef)
	return autoConvert_v1alpha1_BatchReleaseSpec_To_v1beta1_BatchReleaseSpec(in, out, s)
}

// Convert_v1beta1_BatchReleaseSpec_To_v1alpha1_BatchReleaseSpec puts the workload into targetReference.
func Convert_v1beta1_BatchReleaseSpec_To_v1alpha1_BatchReleaseSpec(in *v1beta1.BatchReleaseSpec, out *BatchReleaseSpec, s conversion.Scope) error {
	targetDown(&in.WorkloadRef, &out.TargetRef)
	return autoConvert_v1beta1_BatchReleaseSpec_To_v1alpha1_BatchReleaseSpec(in, out, s)
}

// Convert_v1beta1_BatchReleaseStatus_To_v1alpha1_BatchReleaseStatus leaves message to the conversion of the
// object.
func Convert_v1beta1_BatchReleaseStatus_To_v1alpha1_BatchReleaseStatus(in *v1beta1.BatchReleaseStatus, out *BatchReleaseStatus, s conversion.Scope) error {
	return autoConvert_v1beta1_BatchReleaseStatus_To_v1alpha1_BatchReleaseStatus(in, out, s)
}
