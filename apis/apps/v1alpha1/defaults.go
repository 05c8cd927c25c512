// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// DefaultCloneSet fills the fields of a CloneSet that say nothing. Admission works on the version that
// was sent, so that what comes back has the shape the sender knows. UnitedDeployments are defaulted as
// v1beta1: their spec is the same in both.
func DefaultCloneSet(obj *CloneSet, opts v1beta1.DefaultOptions) {
	spec := &obj.Spec
	point(&spec.Replicas, v1beta1.DefaultReplicas)
	point(&spec.RevisionHistoryLimit, v1beta1.DefaultRevisionHistoryLimit)
	if opts.Templates {
		podtemplate.Default(&spec.Template, opts.PodTemplate)
		for i := range spec.VolumeClaimTemplates {
			podtemplate.DefaultClaim(&spec.VolumeClaimTemplates[i])
		}
	}
	strategy := &spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = RecreateCloneSetUpdateStrategyType
	}
	if strategy.Type == OnDeleteCloneSetUpdateStrategyType {
		return
	}
	point(&strategy.Partition, intstr.FromInt32(0))
	point(&strategy.MaxUnavailable, intstr.FromString(v1beta1.DefaultCloneSetMaxUnavailable))
	point(&strategy.MaxSurge, intstr.FromInt32(0))
	if podUpdatePolicyOf(strategy.Type).InPlace() {
		point(&strategy.InPlaceUpdateStrategy, v1beta1.InPlaceUpdateStrategy{})
	}
}

// point sets a field that is nil.
func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
