// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// ValidateFleetPlacement says what is wrong with a FleetPlacement that its schema cannot say. That no
// other placement names the same target is for the hub's webhook to ask: it takes a look at the others.
func ValidateFleetPlacement(old, obj *fleetv1alpha1.FleetPlacement) field.ErrorList {
	p := fleetPlacement(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	if obj.Spec.TargetRef != old.Spec.TargetRef {
		updates.forbidden(field.NewPath("spec", "targetRef"), "cannot be changed: delete this placement and make another")
	}
	return append(updates.list, p.since(fleetPlacement(old).list)...)
}

// fleetPlacement checks one FleetPlacement for itself.
func fleetPlacement(obj *fleetv1alpha1.FleetPlacement) *problems {
	p := &problems{}
	spec, path := &obj.Spec, field.NewPath("spec")
	p.targetRef(path.Child("targetRef"), &spec.TargetRef)
	p.clusters(path, spec)
	for i := range spec.Division.Weights {
		at, weight := path.Child("division", "weights").Index(i), &spec.Division.Weights[i]
		p.clusterSelector(at.Child("clusterSelector"), &weight.ClusterSelector)
		p.number(at.Child("weight"), int64(weight.Weight), 0, 1_000_000, "must be between 0 and 1000000")
	}
	for i := range spec.Overrides {
		at, override := path.Child("overrides").Index(i), &spec.Overrides[i]
		p.clusterSelector(at.Child("clusterSelector"), &override.ClusterSelector)
		p.override(at, override, obj)
	}
	return p
}

func (p *problems) targetRef(path *field.Path, target *fleetv1alpha1.TargetReference) {
	for _, f := range []named[string]{{"apiVersion", target.APIVersion}, {"kind", target.Kind}, {"name", target.Name}} {
		if f.value == "" {
			p.required(path.Child(f.name), "say which object is placed")
		}
	}
	if _, err := schema.ParseGroupVersion(target.APIVersion); err != nil {
		p.invalid(path.Child("apiVersion"), target.APIVersion, "must be group/version, as apps.kruise.io/v1beta1")
	}
}

// clusters wants exactly one way to select clusters. Names of clusters that do not exist are let in:
// the placement says so in its condition Resolved.
func (p *problems) clusters(path *field.Path, spec *fleetv1alpha1.FleetPlacementSpec) {
	ways := 0
	for _, set := range []bool{spec.PlacementRef != nil, spec.ClusterSelector != nil, spec.ClusterNames != nil} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		p.invalid(path, "", "set exactly one of spec.placementRef, spec.clusterSelector and spec.clusterNames")
	}
	if spec.ClusterSelector != nil {
		p.clusterSelector(path.Child("clusterSelector"), spec.ClusterSelector)
	}
	if spec.PlacementRef != nil && spec.PlacementRef.Name == "" {
		p.required(path.Child("placementRef", "name"), "name a Placement of this namespace")
	}
	seen := map[string]bool{}
	for i, name := range spec.ClusterNames {
		at := path.Child("clusterNames").Index(i)
		p.check(at, name, apivalidation.NameIsDNSSubdomain(name, false))
		unique(p, seen, at, name)
	}
}

func (p *problems) clusterSelector(path *field.Path, selector *metav1.LabelSelector) {
	p.add(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path))
}

func (p *problems) override(path *field.Path, override *fleetv1alpha1.Override, obj *fleetv1alpha1.FleetPlacement) {
	at := path.Child("patch")
	if override.Type == fleetv1alpha1.PatchJSON6902 {
		p.operations(at, override.Patch.Raw)
		return
	}
	if override.Type != "" {
		oneOf(p, path.Child("type"), override.Type, fleetv1alpha1.PatchStrategicMerge, fleetv1alpha1.PatchJSON6902)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(override.Patch.Raw, &patch); err != nil || patch == nil {
		p.invalid(at, string(override.Patch.Raw), "must be an object with the fields to change (or set type JSON6902)")
		return
	}
	p.identity(at, patch, obj)
}

// identity refuses a patch that makes another object out of the target. It may name the target, as
// patches for other tools do.
func (p *problems) identity(path *field.Path, patch map[string]any, obj *fleetv1alpha1.FleetPlacement) {
	metadata, _ := patch["metadata"].(map[string]any)
	target := &obj.Spec.TargetRef
	for _, f := range []struct {
		in         map[string]any
		path       *field.Path
		name, want string
	}{
		{patch, path, "apiVersion", target.APIVersion},
		{patch, path, "kind", target.Kind},
		{metadata, path.Child("metadata"), "name", target.Name},
		{metadata, path.Child("metadata"), "namespace", obj.Namespace},
	} {
		if value, set := f.in[f.name]; set && value != f.want {
			p.invalid(f.path.Child(f.name), value, "an override cannot make another object of the target: take it out")
		}
	}
}

// operation is one step of RFC 6902.
type operation struct {
	Op    string          `json:"op"`
	Path  *string         `json:"path"`
	From  *string         `json:"from"`
	Value json.RawMessage `json:"value"`
}

func (p *problems) operations(path *field.Path, raw []byte) {
	var operations []operation
	if err := json.Unmarshal(raw, &operations); err != nil || len(operations) == 0 {
		p.invalid(path, string(raw), "must be a list of RFC 6902 operations, as [{op: replace, path: /spec/x, value: 1}]")
		return
	}
	for i, step := range operations {
		at := path.Index(i)
		oneOf(p, at.Child("op"), step.Op, "add", "remove", "replace", "move", "copy", "test")
		p.pointer(at.Child("path"), step.Path)
		if step.Op == "move" || step.Op == "copy" {
			p.pointer(at.Child("from"), step.From)
		}
		if slices.Contains([]string{"add", "replace", "test"}, step.Op) && len(step.Value) == 0 {
			p.required(at.Child("value"), fmt.Sprintf("operation %s needs a value", step.Op))
		}
	}
}

// pointer wants a JSON pointer (RFC 6901) to something inside the object.
func (p *problems) pointer(path *field.Path, pointer *string) {
	if pointer == nil {
		p.required(path, "say which field, as /spec/replicas")
	} else if !strings.HasPrefix(*pointer, "/") {
		p.invalid(path, *pointer, "must start with '/', as /spec/replicas")
	}
}
