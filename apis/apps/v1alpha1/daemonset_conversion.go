// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/conversiondata"
)

const (
	progressive    = v1beta1.DaemonSetProgressiveCreatePod
	progressiveYes = "true"
)

// daemonSetOnlyAlpha is what only v1alpha1 says of a DaemonSet.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type daemonSetOnlyAlpha struct {
	Surging bool `json:"surging,omitempty"`
}

// daemonSetOnlyBeta is what v1alpha1 has another form for, which does not say all.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type daemonSetOnlyBeta struct {
	Scaling *daemonSetScaling `json:"scaling,omitempty"`
}

// daemonSetScaling is how v1beta1 says whether a DaemonSet scales by its partition: in a field, beside
// which there may be v1alpha1's annotation.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type daemonSetScaling struct {
	Strategy   *v1beta1.DaemonSetScaleStrategy `json:"strategy,omitempty"`
	Annotation *string                         `json:"annotation,omitempty"`
}

// down is the annotation as v1alpha1 has it. A field that says no leaves the annotation alone.
func (c daemonSetScaling) down() *string {
	if c.Strategy != nil && c.Strategy.PartitionedScaling {
		yes := progressiveYes
		return &yes
	}
	return c.Annotation
}

// scalingUp is the field and the annotation as v1beta1 has them.
func scalingUp(annotation *string) daemonSetScaling {
	up := daemonSetScaling{Annotation: annotation}
	if annotation != nil && *annotation == progressiveYes {
		up.Strategy = &v1beta1.DaemonSetScaleStrategy{PartitionedScaling: true}
	}
	return up
}

// Convert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet also moves the annotation that v1alpha1 has into its
// field, beside which it stays, and calls type Surging what it is: Standard.
func Convert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet(in *DaemonSet, out *v1beta1.DaemonSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_DaemonSet_To_v1beta1_DaemonSet(in, out, s); err != nil {
		return err
	}
	var kept daemonSetOnlyBeta
	conversiondata.Take(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, &kept)
	annotation := conversiondata.Value(in.Annotations, progressive)
	scaling := scalingUp(annotation)
	if kept.Scaling != nil && conversiondata.Same(kept.Scaling.down(), annotation) {
		scaling = *kept.Scaling
		conversiondata.Annotate(&out.ObjectMeta, progressive, scaling.Annotation)
	}
	out.Spec.ScaleStrategy = scaling.Strategy

	var only daemonSetOnlyAlpha
	if rolling := in.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Type == SurgingRollingUpdateType {
		only.Surging = true
		standard := *rolling
		standard.Type = v1beta1.StandardRollingUpdateType
		out.Spec.UpdateStrategy.RollingUpdate = &standard
	}
	return conversiondata.Put(&out.ObjectMeta, SchemeGroupVersion.Version, only)
}

// Convert_v1beta1_DaemonSet_To_v1alpha1_DaemonSet also writes scaleStrategy.partitionedScaling into the
// annotation that v1alpha1 has for it.
func Convert_v1beta1_DaemonSet_To_v1alpha1_DaemonSet(in *v1beta1.DaemonSet, out *DaemonSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_DaemonSet_To_v1alpha1_DaemonSet(in, out, s); err != nil {
		return err
	}
	var kept daemonSetOnlyAlpha
	conversiondata.Take(&out.ObjectMeta, SchemeGroupVersion.Version, &kept)
	if rolling := in.Spec.UpdateStrategy.RollingUpdate; kept.Surging && rolling != nil && rolling.Type == v1beta1.StandardRollingUpdateType {
		surging := *rolling
		surging.Type = SurgingRollingUpdateType
		out.Spec.UpdateStrategy.RollingUpdate = &surging
	}

	scaling := daemonSetScaling{in.Spec.ScaleStrategy, conversiondata.Value(in.Annotations, progressive)}
	if down := scaling.down(); !conversiondata.Same(down, scaling.Annotation) {
		conversiondata.Annotate(&out.ObjectMeta, progressive, down)
	}
	var only daemonSetOnlyBeta
	if !equality.Semantic.DeepEqual(scalingUp(scaling.down()), scaling) {
		only.Scaling = &scaling
	}
	return conversiondata.Put(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, only)
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
