// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// subset is one subset of the hub's WorkloadSpread.
type subset struct {
	name string
	// raw is the subset as the hub has it; it must not be changed.
	raw map[string]any
	// term is its required selector, preferred are its preferred ones in order.
	term      placement.Term
	preferred []placement.Term
	// most is how many replicas it takes; nil without a bound.
	most *int32
}

// spread is the hub's WorkloadSpread, read.
type spread struct {
	spec    *appsv1beta1.WorkloadSpreadSpec
	subsets []subset
}

// invalid says that the WorkloadSpread cannot divide the workload as it is.
func (d Divider) invalid(format string, args ...any) error {
	return share.Problem{
		Reason:  fleetv1alpha1.ReasonInvalidTarget,
		Message: fmt.Sprintf("WorkloadSpread %s: ", d.Spread.GetName()) + fmt.Sprintf(format, args...),
	}
}

func specOf(object *unstructured.Unstructured) (*appsv1beta1.WorkloadSpreadSpec, error) {
	raw, _, err := unstructured.NestedMap(object.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	spec := &appsv1beta1.WorkloadSpreadSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, spec); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return spec, nil
}

// read reads the WorkloadSpread. Percentages are of total.
func (d Divider) read(total int32) (spread, error) {
	spec, err := specOf(d.Spread)
	if err != nil {
		return spread{}, d.invalid("%v", err)
	}
	raw, _, _ := unstructured.NestedFieldNoCopy(d.Spread.Object, "spec", "subsets")
	list, _ := raw.([]any)
	if len(list) == 0 || len(list) != len(spec.Subsets) {
		return spread{}, d.invalid("spec.subsets: name at least one")
	}
	out := spread{spec: spec}
	names := map[string]bool{"": true}
	for i := range spec.Subsets {
		one, err := readSubset(&spec.Subsets[i], total)
		if err != nil {
			return spread{}, d.invalid("spec.subsets[%d].%v", i, err)
		}
		if names[one.name] || len(one.name) > maxName {
			return spread{}, d.invalid("spec.subsets[%d].name: %q is empty, too long or there twice", i, one.name)
		}
		names[one.name] = true
		one.raw, _ = list[i].(map[string]any)
		out.subsets = append(out.subsets, one)
	}
	return out, nil
}

func readSubset(s *appsv1beta1.WorkloadSpreadSubset, total int32) (subset, error) {
	out := subset{name: s.Name}
	var required corev1.NodeSelectorTerm
	if s.RequiredNodeSelector != nil {
		required = *s.RequiredNodeSelector
	}
	var err error
	if out.term, err = placement.Compile(required); err != nil {
		return subset{}, fmt.Errorf("requiredNodeSelector.%w", err)
	}
	for i := range s.PreferredNodeSelector {
		term, err := placement.Compile(s.PreferredNodeSelector[i].Preference)
		if err != nil {
			return subset{}, fmt.Errorf("preferredNodeSelector[%d].preference.%w", i, err)
		}
		out.preferred = append(out.preferred, term)
	}
	if s.MaxReplicas == nil {
		return out, nil
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(s.MaxReplicas, int(total), true)
	if err != nil || most < 0 {
		return subset{}, fmt.Errorf("maxReplicas: %s is neither a number nor a percentage", s.MaxReplicas)
	}
	bound := int32(min(int64(most), maxInt32)) //nolint:gosec // within bounds
	out.most = &bound
	return out, nil
}

// maxName is how long the name of a subset may be for members to report of it.
const maxName = 253

const maxInt32 = int64(1<<31 - 1)

// counts says why the filter makes it unknown how many of a share's pods are spread; nil when it does not.
func (d Divider) counts(spec *appsv1beta1.WorkloadSpreadSpec, target *unstructured.Unstructured) error {
	filter := spec.TargetFilter
	if filter == nil {
		return nil
	}
	if paths := filter.ReplicasPathList; len(paths) > 0 && !slices.Equal(paths, []string{"spec.replicas"}) {
		return d.invalid("spec.targetFilter.replicasPathList: replicas are divided over clusters by spec.replicas and no other field")
	}
	if filter.Selector == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(filter.Selector)
	if err != nil {
		return d.invalid("spec.targetFilter.selector: %v", err)
	}
	template, _, err := unstructured.NestedStringMap(target.Object, "spec", "template", "metadata", "labels")
	if err != nil || !selector.Matches(labels.Set(template)) {
		return d.invalid("spec.targetFilter.selector does not select the pods of the workload's template, and which others it selects is not known on a hub")
	}
	return nil
}
