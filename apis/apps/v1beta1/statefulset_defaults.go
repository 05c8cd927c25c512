// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StatefulSetDefaultOptions say what else to fill.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type StatefulSetDefaultOptions struct {
	DefaultOptions
	// AutoDeletePVC fills persistentVolumeClaimRetentionPolicy, as gate StatefulSetAutoDeletePVC says.
	AutoDeletePVC bool
	// AutoResizePVC fills volumeClaimUpdateStrategy, as gate StatefulSetAutoResizePVCGate says.
	AutoResizePVC bool
}

// DefaultStatefulSet fills the fields of a StatefulSet that say nothing. Objects of other versions are
// converted first.
func DefaultStatefulSet(obj *StatefulSet, opts StatefulSetDefaultOptions) {
	spec := &obj.Spec
	point(&spec.Replicas, DefaultReplicas)
	point(&spec.RevisionHistoryLimit, DefaultRevisionHistoryLimit)
	if spec.PodManagementPolicy == "" {
		spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	if opts.Templates {
		defaultTemplates(&spec.Template, spec.VolumeClaimTemplates, opts.DefaultOptions)
	}
	if opts.AutoResizePVC && spec.VolumeClaimUpdateStrategy.Type == "" {
		spec.VolumeClaimUpdateStrategy.Type = OnPVCDeleteVolumeClaimUpdateStrategyType
	}
	if opts.AutoDeletePVC {
		defaultRetention(&spec.PersistentVolumeClaimRetentionPolicy)
	}
	defaultStatefulSetUpdate(&spec.UpdateStrategy)
}

func defaultRetention(policy **StatefulSetPersistentVolumeClaimRetentionPolicy) {
	point(policy, StatefulSetPersistentVolumeClaimRetentionPolicy{})
	if (*policy).WhenDeleted == "" {
		(*policy).WhenDeleted = RetainPersistentVolumeClaimRetentionPolicyType
	}
	if (*policy).WhenScaled == "" {
		(*policy).WhenScaled = RetainPersistentVolumeClaimRetentionPolicyType
	}
}

func defaultStatefulSetUpdate(strategy *StatefulSetUpdateStrategy) {
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	}
	if strategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return
	}
	point(&strategy.RollingUpdate, RollingUpdateStatefulSetStrategy{})
	rolling := strategy.RollingUpdate
	point(&rolling.Partition, 0)
	point(&rolling.MaxUnavailable, intstr.FromInt32(DefaultStatefulSetMaxUnavailable))
	if rolling.PodUpdatePolicy == "" {
		rolling.PodUpdatePolicy = RecreatePodUpdateStrategyType
	}
	point(&rolling.MinReadySeconds, 0)
}
