// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// Overrides are the overrides of one FleetPlacement, ready to be matched against clusters.
type Overrides struct {
	list []override
}

type override struct {
	field    string
	selector labels.Selector
	kind     fleetv1alpha1.PatchType
	patch    []byte
}

// Compile reads overrides. An error names the field.
func Compile(list []fleetv1alpha1.Override) (Overrides, error) {
	var out Overrides
	for i, o := range list {
		field := fmt.Sprintf("spec.overrides[%d]", i)
		selector, err := metav1.LabelSelectorAsSelector(&o.ClusterSelector)
		if err != nil {
			return Overrides{}, fmt.Errorf("%s.clusterSelector: %w", field, err)
		}
		if len(o.Patch.Raw) == 0 {
			return Overrides{}, fmt.Errorf("%s.patch: is empty", field)
		}
		kind := o.Type
		if kind == "" {
			kind = fleetv1alpha1.PatchStrategicMerge
		}
		out.list = append(out.list, override{field: field, selector: selector, kind: kind, patch: o.Patch.Raw})
	}
	return out, nil
}

// Matching returns the overrides that select a cluster with those labels, in order.
func (o Overrides) Matching(cluster map[string]string) Overrides {
	var out Overrides
	for _, one := range o.list {
		if one.selector.Matches(labels.Set(cluster)) {
			out.list = append(out.list, one)
		}
	}
	return out
}
