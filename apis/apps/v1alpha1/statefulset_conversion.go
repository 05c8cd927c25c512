// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/conversiondata"
)

// statefulSetOnlyBeta is what only v1beta1 says of a StatefulSet.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type statefulSetOnlyBeta struct {
	VolumeClaimUpdateStrategy            v1beta1.VolumeClaimUpdateStrategy                        `json:"volumeClaimUpdateStrategy,omitzero"`
	ReserveOrdinals                      []intstr.IntOrString                                     `json:"reserveOrdinals,omitempty"`
	Lifecycle                            *v1beta1.Lifecycle                                       `json:"lifecycle,omitempty"`
	ScaleStrategy                        *v1beta1.StatefulSetScaleStrategy                        `json:"scaleStrategy,omitempty"`
	PersistentVolumeClaimRetentionPolicy *v1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	Ordinals                             *v1beta1.StatefulSetOrdinals                             `json:"ordinals,omitempty"`
	Status                               *statefulSetStatusOnlyBeta                               `json:"status,omitempty"`
}

// statefulSetStatusOnlyBeta is what only v1beta1 says in the status of a StatefulSet.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type statefulSetStatusOnlyBeta struct {
	UpdatedReadyReplicas     int32                       `json:"updatedReadyReplicas,omitempty"`
	UpdatedAvailableReplicas int32                       `json:"updatedAvailableReplicas,omitempty"`
	VolumeClaims             []v1beta1.VolumeClaimStatus `json:"volumeClaims,omitempty"`
}

// Convert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet also brings back what only v1beta1 says. The part of
// it that belongs to the status comes back only beside a status: a copy of an object starts without.
func Convert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet(in *StatefulSet, out *v1beta1.StatefulSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet(in, out, s); err != nil {
		return err
	}
	var kept statefulSetOnlyBeta
	if !conversiondata.Take(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, &kept) {
		return nil
	}
	out.Spec.VolumeClaimUpdateStrategy = kept.VolumeClaimUpdateStrategy
	out.Spec.ReserveOrdinals = kept.ReserveOrdinals
	out.Spec.Lifecycle = kept.Lifecycle
	out.Spec.ScaleStrategy = kept.ScaleStrategy
	out.Spec.PersistentVolumeClaimRetentionPolicy = kept.PersistentVolumeClaimRetentionPolicy
	out.Spec.Ordinals = kept.Ordinals
	if kept.Status != nil && !equality.Semantic.DeepEqual(in.Status, StatefulSetStatus{}) {
		out.Status.UpdatedReadyReplicas = kept.Status.UpdatedReadyReplicas
		out.Status.UpdatedAvailableReplicas = kept.Status.UpdatedAvailableReplicas
		out.Status.VolumeClaims = kept.Status.VolumeClaims
	}
	return nil
}

// Convert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet also keeps what only v1beta1 says.
func Convert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet(in *v1beta1.StatefulSet, out *StatefulSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet(in, out, s); err != nil {
		return err
	}
	conversiondata.Take(&out.ObjectMeta, SchemeGroupVersion.Version, &struct{}{}) // nothing is v1alpha1's alone
	only := statefulSetOnlyBeta{
		VolumeClaimUpdateStrategy:            in.Spec.VolumeClaimUpdateStrategy,
		ReserveOrdinals:                      in.Spec.ReserveOrdinals,
		Lifecycle:                            in.Spec.Lifecycle,
		ScaleStrategy:                        in.Spec.ScaleStrategy,
		PersistentVolumeClaimRetentionPolicy: in.Spec.PersistentVolumeClaimRetentionPolicy,
		Ordinals:                             in.Spec.Ordinals,
	}
	status := statefulSetStatusOnlyBeta{in.Status.UpdatedReadyReplicas, in.Status.UpdatedAvailableReplicas, in.Status.VolumeClaims}
	if !equality.Semantic.DeepEqual(status, statefulSetStatusOnlyBeta{}) {
		only.Status = &status
	}
	return conversiondata.Put(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, only)
}

// Convert_v1beta1_StatefulSetSpec_To_v1alpha1_StatefulSetSpec leaves to the whole object what only v1beta1
// says.
func Convert_v1beta1_StatefulSetSpec_To_v1alpha1_StatefulSetSpec(in *v1beta1.StatefulSetSpec, out *StatefulSetSpec, s conversion.Scope) error {
	return autoConvert_v1beta1_StatefulSetSpec_To_v1alpha1_StatefulSetSpec(in, out, s)
}

// Convert_v1beta1_StatefulSetStatus_To_v1alpha1_StatefulSetStatus leaves to the whole object what only
// v1beta1 says.
func Convert_v1beta1_StatefulSetStatus_To_v1alpha1_StatefulSetStatus(in *v1beta1.StatefulSetStatus, out *StatefulSetStatus, s conversion.Scope) error {
	return autoConvert_v1beta1_StatefulSetStatus_To_v1alpha1_StatefulSetStatus(in, out, s)
}
