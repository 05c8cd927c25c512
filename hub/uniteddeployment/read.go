// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/allocate"
)

// specOf reads the spec, apart from the template, with defaults filled in.
func specOf(object *unstructured.Unstructured) (*appsv1beta1.UnitedDeploymentSpec, error) {
	raw, _, err := unstructured.NestedMap(map[string]any{"spec": withoutTemplate(object)}, "spec")
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	spec := &appsv1beta1.UnitedDeploymentSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, spec); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	appsv1beta1.DefaultStoredUnitedDeploymentSpec(spec)
	return spec, nil
}

func withoutTemplate(object *unstructured.Unstructured) map[string]any {
	spec, _ := object.Object["spec"].(map[string]any)
	out := maps.Clone(spec)
	delete(out, "template")
	return out
}

// subset is one subset as one set of clusters gets it.
type subset struct {
	name string
	raw  map[string]any
	term placement.Term
}

// subsetsOf reads the subsets of an object by name. A term that cannot be matched against clusters is a
// share.Problem.
func subsetsOf(object *unstructured.Unstructured) (map[string]subset, error) {
	spec, err := specOf(object)
	if err != nil {
		return nil, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
	}
	raw, _, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "topology", "subsets")
	list, ok := raw.([]any)
	if err != nil || (raw != nil && !ok) {
		return nil, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: "spec.topology.subsets is no list"}
	}
	out := make(map[string]subset, len(list))
	for i, s := range spec.Topology.Subsets {
		term, err := placement.Compile(s.NodeSelectorTerm)
		if err != nil {
			return nil, share.Problem{
				Reason:  fleetv1alpha1.ReasonInvalidTarget,
				Message: fmt.Sprintf("spec.topology.subsets[%d].nodeSelectorTerm.%v", i, err),
			}
		}
		fields, _ := list[i].(map[string]any)
		out[s.Name] = subset{name: s.Name, raw: fields, term: term}
	}
	return out, nil
}

// rulesOf are the subsets as the allocation rules want them. Current is what all clusters hold.
func rulesOf(spec *appsv1beta1.UnitedDeploymentSpec, held share.Holdings) []allocate.Subset {
	out := make([]allocate.Subset, 0, len(spec.Topology.Subsets))
	for _, s := range spec.Topology.Subsets {
		out = append(out, allocate.Subset{
			Name: s.Name, Replicas: s.Replicas, Min: s.MinReplicas, Max: s.MaxReplicas, Current: held.Total(s.Name),
		})
	}
	return out
}

func isAdaptive(spec *appsv1beta1.UnitedDeploymentSpec) bool {
	return spec.Topology.ScheduleStrategy.Type == appsv1beta1.AdaptiveUnitedDeploymentScheduleStrategyType
}

func isReserving(spec *appsv1beta1.UnitedDeploymentSpec) bool {
	a := spec.Topology.ScheduleStrategy.Adaptive
	return isAdaptive(spec) && a != nil && a.ReserveUnschedulablePods
}
