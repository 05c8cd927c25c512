// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
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
	index    int
	selector labels.Selector
	kind     fleetv1alpha1.PatchType
	patch    []byte
}

// OverrideError says which override cannot be applied, and why.
type OverrideError struct {
	// Index of the override in spec.overrides, and the Field of it that is at fault.
	Index int
	Field string
	Err   error
}

// Error implements error.
func (e *OverrideError) Error() string {
	return fmt.Sprintf("spec.overrides[%d].%s: %v", e.Index, e.Field, e.Err)
}

// Unwrap returns why.
func (e *OverrideError) Unwrap() error { return e.Err }

// Compile reads overrides. An error is an OverrideError.
func Compile(list []fleetv1alpha1.Override) (Overrides, error) {
	var out Overrides
	for i, o := range list {
		selector, err := metav1.LabelSelectorAsSelector(&o.ClusterSelector)
		if err != nil {
			return Overrides{}, &OverrideError{i, "clusterSelector", err}
		}
		if len(o.Patch.Raw) == 0 {
			return Overrides{}, &OverrideError{i, "patch", errors.New("is empty")}
		}
		kind := o.Type
		if kind == "" {
			kind = fleetv1alpha1.PatchStrategicMerge
		}
		out.list = append(out.list, override{index: i, selector: selector, kind: kind, patch: o.Patch.Raw})
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
