// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment also keeps what the status of v1alpha1 says
// twice, where the two do not agree. Both versions have the same spec.
func Convert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment(in *UnitedDeployment, out *v1beta1.UnitedDeployment, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment, autoConvert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment), in, out)
}

// Convert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment also keeps what the status of v1beta1 says
// of subsets of one name.
func Convert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment(in *v1beta1.UnitedDeployment, out *UnitedDeployment, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1beta1_UnitedDeployment_To_v1alpha1_UnitedDeployment, autoConvert_v1alpha1_UnitedDeployment_To_v1beta1_UnitedDeployment), in, out)
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
