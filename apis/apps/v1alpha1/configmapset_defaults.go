// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// DefaultConfigMapSetRevisionHistoryLimit is the default of spec.revisionHistoryLimit.
	DefaultConfigMapSetRevisionHistoryLimit int32 = 5
	// DefaultReloadConfigMapNamespace and DefaultReloadConfigMapName are the ConfigMap that the reload sidecar
	// comes from where nobody says otherwise.
	DefaultReloadConfigMapNamespace = "kruise-system"
	// DefaultReloadConfigMapName: see DefaultReloadConfigMapNamespace.
	DefaultReloadConfigMapName = "default-reload-sidecar-config"
)

// DefaultConfigMapSet fills the fields of a ConfigMapSet that say nothing. The ConfigMap is the one that the
// person who runs us wants reload sidecars to come from; an empty name fills none.
func DefaultConfigMapSet(obj *ConfigMapSet, reload ReloadSidecarConfigMapRef) {
	spec := &obj.Spec
	point(&spec.RevisionHistoryLimit, DefaultConfigMapSetRevisionHistoryLimit)
	point(&spec.UpdateStrategy, ConfigMapSetUpdateStrategy{})
	point(&spec.UpdateStrategy.Partition, intstr.FromInt32(0))
	point(&spec.UpdateStrategy.MaxUnavailable, intstr.FromInt32(1))
	point(&spec.EffectPolicy, EffectPolicy{})
	if spec.EffectPolicy.Type == "" {
		spec.EffectPolicy.Type = EffectPolicyReStart
	}
	point(&spec.ReloadSidecarConfig, ReloadSidecarConfig{})
	sidecar := spec.ReloadSidecarConfig
	if sidecar.Type == "" {
		sidecar.Type = ReloadSidecarTypeCustom
	}
	if sidecar.Type == ReloadSidecarTypeCustom && reload.Name != "" {
		point(&sidecar.Config, ReloadSidecarOptions{})
		point(&sidecar.Config.ConfigMapRef, reload)
	}
	for i := range spec.Containers {
		if from := spec.Containers[i].NameFrom; from != nil && from.FieldRef != nil && from.FieldRef.APIVersion == "" {
			from.FieldRef.APIVersion = "v1"
		}
	}
}
