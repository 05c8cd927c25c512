// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet also moves the annotation that v1alpha1 has into its
// field, beside which it stays, and calls type Surging what it is: Standard.
func Convert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet(in *DaemonSet, out *v1beta1.DaemonSet, s conversion.Scope) error {
	return preserve.Through(way(s, daemonSetUp, daemonSetDown), in, out)
}

// Convert_v1beta1_DaemonSet_To_v1alpha1_DaemonSet also writes scaleStrategy.partitionedScaling into the
// annotation that v1alpha1 has for it.
func Convert_v1beta1_DaemonSet_To_v1alpha1_DaemonSet(in *v1beta1.DaemonSet, out *DaemonSet, s conversion.Scope) error {
	return preserve.Through(way(s, daemonSetDown, daemonSetUp), in, out)
}

func daemonSetUp(in *DaemonSet, out *v1beta1.DaemonSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet(in, out, s); err != nil {
		return err
	}
	if in.Annotations[v1beta1.DaemonSetProgressiveCreatePod] == "true" {
		out.Spec.ScaleStrategy = &v1beta1.DaemonSetScaleStrategy{PartitionedScaling: true}
	}
	if rolling := in.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Type == SurgingRollingUpdateType {
		standard := *rolling
		standard.Type = v1beta1.StandardRollingUpdateType
		out.Spec.UpdateStrategy.RollingUpdate = &standard
	}
	return nil
}

// daemonSetDown leaves the annotation alone where the field says no.
func daemonSetDown(in *v1beta1.DaemonSet, out *DaemonSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_DaemonSet_To_v1alpha1_DaemonSet(in, out, s); err != nil {
		return err
	}
	if in.Spec.ScaleStrategy != nil && in.Spec.ScaleStrategy.PartitionedScaling {
		out.Annotations = preserve.With(in.Annotations, v1beta1.DaemonSetProgressiveCreatePod, "true")
	}
	return nil
}

// Convert_v1beta1_DaemonSetSpec_To_v1alpha1_DaemonSetSpec leaves scaleStrategy to the whole object.
func Convert_v1beta1_DaemonSetSpec_To_v1alpha1_DaemonSetSpec(in *v1beta1.DaemonSetSpec, out *DaemonSetSpec, s conversion.Scope) error {
	return autoConvert_v1beta1_DaemonSetSpec_To_v1alpha1_DaemonSetSpec(in, out, s)
}

// Convert_v1alpha1_DaemonSetStatus_To_v1beta1_DaemonSetStatus renames daemonSetHash to updateRevision.
func Convert_v1alpha1_DaemonSetStatus_To_v1beta1_DaemonSetStatus(in *DaemonSetStatus, out *v1beta1.DaemonSetStatus, s conversion.Scope) error {
	out.UpdateRevision = in.DaemonSetHash
	return autoConvert_v1alpha1_DaemonSetStatus_To_v1beta1_DaemonSetStatus(in, out, s)
}

// Convert_v1beta1_DaemonSetStatus_To_v1alpha1_DaemonSetStatus renames updateRevision to daemonSetHash.
func Convert_v1beta1_DaemonSetStatus_To_v1alpha1_DaemonSetStatus(in *v1beta1.DaemonSetStatus, out *DaemonSetStatus, s conversion.Scope) error {
	out.DaemonSetHash = in.UpdateRevision
	return autoConvert_v1beta1_DaemonSetStatus_To_v1alpha1_DaemonSetStatus(in, out, s)
}
