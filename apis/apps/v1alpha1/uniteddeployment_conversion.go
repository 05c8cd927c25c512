// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/conversiondata"
)

// unitedDeploymentOnlyAlpha is what v1alpha1 says in the status twice, where the two do not agree.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type unitedDeploymentOnlyAlpha struct {
	Status *unitedDeploymentSubsets `json:"status,omitempty"`
}

// unitedDeploymentSubsets is what the status of v1alpha1 says of subsets.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type unitedDeploymentSubsets struct {
	SubsetReplicas map[string]int32               `json:"subsetReplicas,omitempty"`
	UpdateStatus   *UpdateStatus                  `json:"updateStatus,omitempty"`
	SubsetStatuses []UnitedDeploymentSubsetStatus `json:"subsetStatuses,omitempty"`
}

// unitedDeploymentOnlyBeta is what v1beta1 says of subsets of one name.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type unitedDeploymentOnlyBeta struct {
	SubsetStatuses []v1beta1.UnitedDeploymentSubsetStatus `json:"subsetStatuses,omitempty"`
}

func subsetsOf(status *UnitedDeploymentStatus) unitedDeploymentSubsets {
	return unitedDeploymentSubsets{status.SubsetReplicas, status.UpdateStatus, status.SubsetStatuses}
}

// Convert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment also brings back and keeps what the status
// of one version cannot say. Both versions have the same spec.
func Convert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment(in *UnitedDeployment, out *v1beta1.UnitedDeployment, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment(in, out, s); err != nil {
		return err
	}
	var kept unitedDeploymentOnlyBeta
	if conversiondata.Take(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, &kept) {
		before := out.Status
		before.SubsetStatuses = kept.SubsetStatuses
		again, err := statusDown(&before, s)
		if err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(subsetsOf(again), subsetsOf(&in.Status)) {
			out.Status.SubsetStatuses = kept.SubsetStatuses
		}
	}
	var only unitedDeploymentOnlyAlpha
	again, err := statusDown(&out.Status, s)
	if err != nil {
		return err
	}
	if subsets := subsetsOf(&in.Status); !equality.Semantic.DeepEqual(subsetsOf(again), subsets) {
		only.Status = &subsets
	}
	return conversiondata.Put(&out.ObjectMeta, SchemeGroupVersion.Version, only)
}

// Convert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment also brings back and keeps what the status
// of one version cannot say.
func Convert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment(in *v1beta1.UnitedDeployment, out *UnitedDeployment, s conversion.Scope) error {
	if err := autoConvert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment(in, out, s); err != nil {
		return err
	}
	var kept unitedDeploymentOnlyAlpha
	if conversiondata.Take(&out.ObjectMeta, SchemeGroupVersion.Version, &kept) && kept.Status != nil {
		before := out.Status
		before.SubsetReplicas, before.UpdateStatus, before.SubsetStatuses = kept.Status.SubsetReplicas, kept.Status.UpdateStatus, kept.Status.SubsetStatuses
		again, err := statusUp(&before, s)
		if err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(*again, in.Status) {
			out.Status = before
		}
	}
	var only unitedDeploymentOnlyBeta
	again, err := statusUp(&out.Status, s)
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(again.SubsetStatuses, in.Status.SubsetStatuses) {
		only.SubsetStatuses = in.Status.SubsetStatuses
	}
	return conversiondata.Put(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, only)
}

func statusUp(in *UnitedDeploymentStatus, s conversion.Scope) (*v1beta1.UnitedDeploymentStatus, error) {
	out := &v1beta1.UnitedDeploymentStatus{}
	return out, Convert_v1alpha1_UnitedDeploymentStatus_To_v1beta1_UnitedDeploymentStatus(in, out, s)
}

func statusDown(in *v1beta1.UnitedDeploymentStatus, s conversion.Scope) (*UnitedDeploymentStatus, error) {
	out := &UnitedDeploymentStatus{}
	return out, Convert_v1beta1_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus(in, out, s)
}

// Convert_v1alpha1_UnitedDeploymentStatus_To_v1beta1_UnitedDeploymentStatus merges the maps that only
// v1alpha1 has into subsetStatuses, adding the subsets that are missing there, by name.
func Convert_v1alpha1_UnitedDeploymentStatus_To_v1beta1_UnitedDeploymentStatus(
	in *UnitedDeploymentStatus, out *v1beta1.UnitedDeploymentStatus, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_UnitedDeploymentStatus_To_v1beta1_UnitedDeploymentStatus(in, out, s); err != nil {
		return err
	}
	out.SubsetStatuses = slices.Clone(out.SubsetStatuses) // shared with in so far
	for _, name := range slices.Sorted(maps.Keys(in.SubsetReplicas)) {
		subsetStatusOf(out, name).Replicas = in.SubsetReplicas[name]
	}
	out.UpdatedRevision = ""
	if in.UpdateStatus == nil {
		return nil
	}
	out.UpdatedRevision = in.UpdateStatus.UpdatedRevision
	for _, name := range slices.Sorted(maps.Keys(in.UpdateStatus.CurrentPartitions)) {
		subsetStatusOf(out, name).Partition = in.UpdateStatus.CurrentPartitions[name]
	}
	return nil
}

// subsetStatusOf returns the status of the named subset, which it appends when there is none.
func subsetStatusOf(status *v1beta1.UnitedDeploymentStatus, name string) *v1beta1.UnitedDeploymentSubsetStatus {
	for i := range status.SubsetStatuses {
		if status.SubsetStatuses[i].Name == name {
			return &status.SubsetStatuses[i]
		}
	}
	status.SubsetStatuses = append(status.SubsetStatuses, v1beta1.UnitedDeploymentSubsetStatus{Name: name})
	return &status.SubsetStatuses[len(status.SubsetStatuses)-1]
}

// Convert_v1beta1_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus rebuilds the maps that only
// v1alpha1 has from subsetStatuses.
func Convert_v1beta1_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus(
	in *v1beta1.UnitedDeploymentStatus, out *UnitedDeploymentStatus, s conversion.Scope,
) error {
	if err := autoConvert_v1beta1_UnitedDeploymentStatus_To_v1alpha1_UnitedDeploymentStatus(in, out, s); err != nil {
		return err
	}
	var replicas, partitions map[string]int32
	for i := range in.SubsetStatuses {
		subset := &in.SubsetStatuses[i]
		if subset.Name == "" {
			continue
		}
		if replicas == nil {
			replicas, partitions = map[string]int32{}, map[string]int32{}
		}
		replicas[subset.Name] = subset.Replicas
		partitions[subset.Name] = subset.Partition
	}
	out.SubsetReplicas = replicas
	out.UpdateStatus = nil
	if in.UpdatedRevision != "" || len(in.SubsetStatuses) > 0 {
		out.UpdateStatus = &UpdateStatus{UpdatedRevision: in.UpdatedRevision, CurrentPartitions: partitions}
	}
	return nil
}
