// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1alpha1 "github.com/flotilla-sh/flotilla/apis/policy/v1alpha1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1alpha1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// carried are the open fields that need no place in verbatim: the types hold them as the bytes they came as.
var carried = map[string]string{
	"UnitedDeployment spec.topology.subsets[].patch": "runtime.RawExtension in both versions",
	"WorkloadSpread spec.subsets[].patch":            "runtime.RawExtension in both versions",
}

// dropped are the open fields of which only what the types know comes through.
var dropped = map[string]string{
	"AdvancedCronJob spec.template.imageListPullJobTemplate.metadata": "only v1beta1 has it: in v1alpha1 it travels in the annotation, as the type has it",
}

// everything is a scheme with every type that has more than one version.
func everything(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme, policyv1alpha1.AddToScheme, policyv1beta1.AddToScheme,
		rolloutsv1alpha1.AddToScheme, rolloutsv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// definitions are the generated CRDs with more than one version.
func definitions(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../generated/manifests/crd/*.kruise.io_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatal(err)
		}
		if len(crd.Spec.Versions) > 1 {
			out = append(out, crd)
		}
	}
	if len(out) < 17 {
		t.Fatalf("found %d definitions with more than one version", len(out))
	}
	return out
}

// open finds the fields that keep what no schema knows; [] stands for the elements of a list.
func open(s *apiextensionsv1.JSONSchemaProps, path []string, found func(path []string)) {
	if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
		found(slices.Clone(path))
	}
	for name := range s.Properties {
		property := s.Properties[name]
		open(&property, append(path, name), found)
	}
	if s.Items != nil && s.Items.Schema != nil {
		open(s.Items.Schema, append(path, "[]"), found)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		open(s.AdditionalProperties.Schema, append(path, "{}"), found)
	}
}

func nameOf(path []string) string { return strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]") }

// listed says whether a field is handed on as a whole, or in what is.
func listed(kind schema.GroupKind, path []string) bool {
	return slices.ContainsFunc(verbatim[kind], func(v []string) bool { return len(v) <= len(path) && slices.Equal(v, path[:len(v)]) })
}

// TestOpenFieldsComeThrough: whatever a field may hold that no schema knows is there in every other version.
func TestOpenFieldsComeThrough(t *testing.T) {
	scheme, used := everything(t), map[string]bool{}
	for _, crd := range definitions(t) {
		for _, version := range crd.Spec.Versions {
			open(version.Schema.OpenAPIV3Schema, nil, func(path []string) {
				kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
				name := kind.Kind + " " + nameOf(path)
				used[name] = true
				if !listed(kind, path) && carried[name] == "" && dropped[name] == "" {
					t.Errorf("%s of %s is neither in verbatim nor excused", name, version.Name)
				}
				if dropped[name] != "" {
					return
				}
				for _, other := range crd.Spec.Versions {
					comesThrough(t, scheme, kind, path, [2]string{version.Name, other.Name})
				}
			})
		}
	}
	for _, excuses := range []map[string]string{carried, dropped} {
		for name := range excuses {
			if !used[name] {
				t.Errorf("%s is excused, and there is no such field", name)
			}
		}
	}
}

// comesThrough converts an object with something unknown in a field.
func comesThrough(t *testing.T, scheme *runtime.Scheme, kind schema.GroupKind, path []string, versions [2]string) {
	t.Helper()
	want := fill(path)
	raw, err := json.Marshal(object(kind, versions[0], want))
	if err != nil {
		t.Fatal(err)
	}
	converted, err := Object(scheme, raw, kind.Group+"/"+versions[1])
	if err != nil {
		t.Errorf("%s %s: %v", kind.Kind, nameOf(path), err)
		return
	}
	var came, got map[string]any
	if err := utiljson.Unmarshal(raw, &came); err != nil {
		t.Fatal(err)
	}
	if err := utiljson.Unmarshal(converted, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(at(came, path), at(got, path)); diff != "" {
		t.Errorf("%s %s from %s to %s (-want +got):\n%s", kind.Kind, nameOf(path), versions[0], versions[1], diff)
	}
}

func object(kind schema.GroupKind, version string, fields map[string]any) map[string]any {
	fields["apiVersion"], fields["kind"], fields["metadata"] = kind.Group+"/"+version, kind.Kind, map[string]any{"name": "a"}
	return fields
}

// fill makes the fields down to a path, with something at its end that no type knows.
func fill(path []string) map[string]any {
	unknown := map[string]any{"name": "n", "future": map[string]any{"deep": []any{int64(9007199254740993)}}}
	var value any = unknown
	if last := path[len(path)-1]; strings.HasSuffix(last, "s") {
		value = []any{unknown}
	}
	if slices.Contains([]string{"template", "jobTemplate", "spec"}, path[len(path)-1]) {
		value = map[string]any{"future": true, "spec": map[string]any{"future": 1}}
	}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == "[]" {
			value = []any{value}
		} else {
			value = map[string]any{path[i]: value}
		}
	}
	return value.(map[string]any)
}

// at is what is in a field, of the first element of each list.
func at(value any, path []string) any {
	for _, name := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			if len(v) == 0 {
				return nil
			}
			value = v[0]
		default:
			return nil
		}
	}
	return value
}

// TestVerbatimIsAlikeInAllVersions: what is handed on has the same schema everywhere.
func TestVerbatimIsAlikeInAllVersions(t *testing.T) {
	known := map[schema.GroupKind]bool{}
	for _, crd := range definitions(t) {
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		known[kind] = true
		for _, path := range verbatim[kind] {
			first := find(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, path)
			if first == nil {
				t.Errorf("%s has no %s", kind.Kind, nameOf(path))
			}
			for _, version := range crd.Spec.Versions[1:] {
				if diff := cmp.Diff(first, find(version.Schema.OpenAPIV3Schema, path)); diff != "" {
					t.Errorf("%s %s differs in %s:\n%s", kind.Kind, nameOf(path), version.Name, diff)
				}
			}
		}
	}
	for kind := range verbatim {
		if !known[kind] {
			t.Errorf("%s has no two versions", kind)
		}
	}
}

// find is the schema of a field without its descriptions; nil where there is none.
func find(s *apiextensionsv1.JSONSchemaProps, path []string) *apiextensionsv1.JSONSchemaProps {
	for _, name := range path {
		property, found := s.Properties[name]
		if !found {
			return nil
		}
		s = &property
	}
	s = s.DeepCopy()
	silence(s)
	return s
}

func silence(s *apiextensionsv1.JSONSchemaProps) {
	s.Description = ""
	for name := range s.Properties {
		property := s.Properties[name]
		silence(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		silence(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		silence(s.AdditionalProperties.Schema)
	}
}
