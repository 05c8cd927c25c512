// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// condition are the fields that metav1.Condition requires: of the kinds that are OpenKruise's, it requires them
// as well.
var condition = []string{"lastTransitionTime", "message", "reason", "status", "type"}

// TestStatusIsNeverRequired: whoever says less of an object's status than we know, as older controllers do, is let.
// Only lists that are maps need their keys.
func TestStatusIsNeverRequired(t *testing.T) {
	files, err := filepath.Glob("../../generated/manifests/crd/*.kruise.io_*.yaml")
	if err != nil || len(files) < 24 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			if slices.Contains(root.Required, "status") {
				t.Errorf("%s %s: status is required", crd.Name, version.Name)
			}
			status := root.Properties["status"]
			required(&status, "status", nil, func(path string, names []string) {
				t.Errorf("%s %s: %s requires %v", crd.Name, version.Name, path, names)
			})
		}
	}
}

// required tells of fields that are required in a schema and are no keys of the list they are in.
func required(schema *apiextensionsv1.JSONSchemaProps, path string, keys []string, tell func(path string, names []string)) {
	names := slices.DeleteFunc(slices.Clone(schema.Required), func(name string) bool { return slices.Contains(keys, name) })
	if len(names) > 0 && !slices.Equal(schema.Required, condition) {
		tell(path, names)
	}
	for name, property := range schema.Properties {
		required(&property, path+"."+name, nil, tell)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		required(schema.Items.Schema, path+"[]", schema.XListMapKeys, tell)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		required(schema.AdditionalProperties.Schema, path+"{}", nil, tell)
	}
}
