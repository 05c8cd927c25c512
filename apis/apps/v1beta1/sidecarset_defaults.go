// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// DefaultSidecarSet fills the fields of a SidecarSet that say nothing. Templates are its containers and
// volumes: what Kubernetes fills in them is filled on request only. It does not touch the hashes: see
// SidecarSetHashes.
func DefaultSidecarSet(obj *SidecarSet, opts DefaultOptions) {
	spec := &obj.Spec
	point(&spec.RevisionHistoryLimit, DefaultRevisionHistoryLimit)
	fillEmpty(&spec.UpdateStrategy.Type, RollingUpdateSidecarSetStrategyType)
	point(&spec.UpdateStrategy.Partition, intstr.FromInt32(0))
	point(&spec.UpdateStrategy.MaxUnavailable, intstr.FromInt32(1))
	if spec.InjectionStrategy.Revision != nil {
		fillEmpty(&spec.InjectionStrategy.Revision.Policy, AlwaysSidecarSetInjectRevisionPolicy)
	}
	for i := range spec.PatchPodMetadata {
		fillEmpty(&spec.PatchPodMetadata[i].PatchPolicy, SidecarSetRetainPatchPolicy)
	}
	for i := range spec.InitContainers {
		defaultSidecar(&spec.InitContainers[i], AfterAppContainerType, opts)
	}
	for i := range spec.Containers {
		defaultSidecar(&spec.Containers[i], BeforeAppContainerType, opts)
	}
	for i := range spec.Volumes {
		if opts.Templates {
			podtemplate.DefaultVolume(&spec.Volumes[i])
		}
	}
}

func defaultSidecar(container *SidecarContainer, policy PodInjectPolicyType, opts DefaultOptions) {
	fillEmpty(&container.PodInjectPolicy, policy)
	fillEmpty(&container.UpgradeStrategy.UpgradeType, SidecarContainerColdUpgrade)
	fillEmpty(&container.ShareVolumePolicy.Type, ShareVolumePolicyDisabled)
	for i := range container.TransferEnv {
		if from := container.TransferEnv[i].SourceContainerNameFrom; from != nil && from.FieldRef != nil {
			fillEmpty(&from.FieldRef.APIVersion, "v1")
		}
	}
	if opts.Templates {
		podtemplate.DefaultContainer(&container.Container)
	}
}

// fillEmpty sets a string that is empty.
func fillEmpty[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
