// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// clusterKeys are the selector keys that the hub matches against clusters, which are sets of values:
// one greater or less than another means nothing there.
var clusterKeys = []string{
	fleetv1alpha1.ClusterKey, fleetv1alpha1.ProviderKey, fleetv1alpha1.ClusterSetKey,
	corev1.LabelTopologyRegion, corev1.LabelTopologyZone,
}

// ValidateUnitedDeploymentOnHub says what a hub cannot divide over clusters, besides what
// ValidateUnitedDeployment says. A nil old means that the object is new.
func ValidateUnitedDeploymentOnHub(old, obj *v1beta1.UnitedDeployment) field.ErrorList {
	p := hubSubsets(obj.Spec.Topology.Subsets)
	if old == nil {
		return p.list
	}
	return p.since(hubSubsets(old.Spec.Topology.Subsets).list)
}

func hubSubsets(subsets []v1beta1.Subset) *problems {
	p := &problems{}
	for i := range subsets {
		p.hubTerm(field.NewPath("spec", "topology", "subsets").Index(i).Child("nodeSelectorTerm"), &subsets[i].NodeSelectorTerm)
	}
	return p
}

// hubTerm refuses what cannot be matched against clusters.
func (p *problems) hubTerm(path *field.Path, term *corev1.NodeSelectorTerm) {
	if len(term.MatchFields) > 0 {
		p.forbidden(path.Child("matchFields"), "fields of nodes mean nothing on a hub: use matchExpressions")
	}
	for j := range term.MatchExpressions {
		requirement := &term.MatchExpressions[j]
		compares := requirement.Operator == corev1.NodeSelectorOpGt || requirement.Operator == corev1.NodeSelectorOpLt
		if compares && slices.Contains(clusterKeys, requirement.Key) {
			p.invalid(path.Child("matchExpressions").Index(j).Child("operator"), requirement.Operator,
				"key "+requirement.Key+" is matched against clusters: use In, NotIn, Exists or DoesNotExist")
		}
	}
}

// ValidateWorkloadSpreadOnHub says what a hub cannot divide over clusters, besides what ValidateWorkloadSpread
// says. A nil old means that the object is new.
func ValidateWorkloadSpreadOnHub(old, obj *v1beta1.WorkloadSpread) field.ErrorList {
	p := hubSpread(obj.Spec.Subsets)
	if old == nil {
		return p.list
	}
	return p.since(hubSpread(old.Spec.Subsets).list)
}

// ValidateOldWorkloadSpreadOnHub is ValidateWorkloadSpreadOnHub for an object sent as v1alpha1. Complaints name
// the fields as that version has them.
func ValidateOldWorkloadSpreadOnHub(old, obj *v1alpha1.WorkloadSpread) field.ErrorList {
	return ofOldSpread(old, obj, ValidateWorkloadSpreadOnHub)
}

func hubSpread(subsets []v1beta1.WorkloadSpreadSubset) *problems {
	p := &problems{}
	for i := range subsets {
		path := field.NewPath("spec", "subsets").Index(i)
		if subsets[i].RequiredNodeSelector != nil {
			p.hubTerm(path.Child("requiredNodeSelector"), subsets[i].RequiredNodeSelector)
		}
		for j := range subsets[i].PreferredNodeSelector {
			p.hubTerm(path.Child("preferredNodeSelector").Index(j).Child("preference"), &subsets[i].PreferredNodeSelector[j].Preference)
		}
	}
	return p
}
