// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// Defaults of numbers.
const (
	// DefaultReplicas is the default of spec.replicas.
	DefaultReplicas int32 = 1
	// DefaultRevisionHistoryLimit is the default of spec.revisionHistoryLimit.
	DefaultRevisionHistoryLimit int32 = 10
)

// DefaultOptions say what else to fill.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type DefaultOptions struct {
	// Templates also fills pod and claim templates. Ask TemplatesChanged: another byte in a template
	// is another revision, so a template that stands still is left as it is.
	Templates bool
	// PodTemplate tunes how pod templates are filled.
	PodTemplate podtemplate.Options
}

// TemplatesChanged says whether the template of an object differs from the stored one; a nil stored one
// means that the object is new. Controllers, which default what they read, never fill templates.
func TemplatesChanged[T any](stored, template *T) bool {
	return stored == nil || !equality.Semantic.DeepEqual(stored, template)
}

// DefaultCloneSet fills the fields of a CloneSet that say nothing.
func DefaultCloneSet(obj *CloneSet, opts DefaultOptions) {
	spec := &obj.Spec
	point(&spec.Replicas, DefaultReplicas)
	point(&spec.RevisionHistoryLimit, DefaultRevisionHistoryLimit)
	if opts.Templates {
		defaultTemplates(&spec.Template, spec.VolumeClaimTemplates, opts)
	}
	strategy := &spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = CloneSetRollingUpdateStrategyType
	}
	if strategy.Type != CloneSetRollingUpdateStrategyType {
		return
	}
	point(&strategy.RollingUpdate, RollingUpdateCloneSetStrategy{})
	rolling := strategy.RollingUpdate
	if rolling.PodUpdatePolicy == "" {
		rolling.PodUpdatePolicy = RecreatePodUpdateStrategyType
	}
	point(&rolling.Partition, intstr.FromInt32(0))
	point(&rolling.MaxUnavailable, intstr.FromString(DefaultCloneSetMaxUnavailable))
	point(&rolling.MaxSurge, intstr.FromInt32(0))
	if rolling.PodUpdatePolicy.InPlace() {
		point(&rolling.InPlaceUpdateStrategy, InPlaceUpdateStrategy{})
	}
}

// InPlace says whether the policy ever updates a pod in place.
func (t PodUpdateStrategyType) InPlace() bool {
	return t == InPlaceIfPossiblePodUpdateStrategyType || t == InPlaceOnlyPodUpdateStrategyType
}

// DefaultUnitedDeployment fills the fields of a UnitedDeployment that say nothing.
func DefaultUnitedDeployment(obj *UnitedDeployment, opts DefaultOptions) {
	DefaultUnitedDeploymentSpec(&obj.Spec, opts)
}

// DefaultUnitedDeploymentSpec is DefaultUnitedDeployment for the spec, which all versions share. Of the
// templates only statefulSetTemplate is filled: the other workloads have a webhook of their own.
func DefaultUnitedDeploymentSpec(spec *UnitedDeploymentSpec, opts DefaultOptions) {
	point(&spec.Replicas, DefaultReplicas)
	point(&spec.RevisionHistoryLimit, DefaultRevisionHistoryLimit)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = ManualUpdateStrategyType
	}
	if spec.UpdateStrategy.Type == ManualUpdateStrategyType {
		point(&spec.UpdateStrategy.ManualUpdate, ManualUpdate{})
	}
	if template := spec.Template.StatefulSetTemplate; template != nil && opts.Templates {
		defaultTemplates(&template.Spec.Template, template.Spec.VolumeClaimTemplates, opts)
	}
	defaultMinReplicas(spec.Topology.Subsets)
}

// DefaultStoredUnitedDeploymentSpec fills in, for controllers, what the webhook would have: objects may
// have been stored before it ran. A total that the subsets' own numbers make up stays open, because one
// would be a wrong guess. Templates are left as they are.
func DefaultStoredUnitedDeploymentSpec(spec *UnitedDeploymentSpec) {
	open := spec.Replicas == nil && allSayReplicas(spec.Topology.Subsets)
	DefaultUnitedDeploymentSpec(spec, DefaultOptions{})
	if open {
		spec.Replicas = nil
	}
}

// allSayReplicas tells whether the subsets' own numbers make up the total.
func allSayReplicas(subsets []Subset) bool {
	for i := range subsets {
		if said := subsets[i].Replicas; said == nil || said.Type != intstr.Int {
			return false
		}
	}
	return len(subsets) > 0
}

// defaultMinReplicas gives every subset a minReplicas of 0 once one has a bound and none a fixed number.
func defaultMinReplicas(subsets []Subset) {
	bounded := false
	for i := range subsets {
		if subsets[i].Replicas != nil {
			return
		}
		bounded = bounded || subsets[i].MinReplicas != nil || subsets[i].MaxReplicas != nil
	}
	for i := range subsets {
		if bounded {
			point(&subsets[i].MinReplicas, intstr.FromInt32(0))
		}
	}
}

func defaultTemplates(pod *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim, opts DefaultOptions) {
	podtemplate.Default(pod, opts.PodTemplate)
	for i := range claims {
		podtemplate.DefaultClaim(&claims[i])
	}
}

// point sets a field that is nil.
func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
