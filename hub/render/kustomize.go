// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// schema says where our kinds hold pod templates and keyed lists.
//
//go:embed schema.json
var schema []byte

var addSchema = sync.OnceValue(func() error { return openapi.AddSchema(schema) })

// kustomize keeps its schemas in unguarded globals, so one override at a time.
var kustomize sync.Mutex

// apply runs the overrides over an object in JSON.
func apply(data []byte, overrides Overrides) (*unstructured.Unstructured, error) {
	kustomize.Lock()
	defer kustomize.Unlock()
	if err := addSchema(); err != nil {
		return nil, fmt.Errorf("loading the schema of our kinds: %w", err)
	}
	node, err := yaml.Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	for _, o := range overrides.list {
		if node, err = applyOne(node, o); err != nil {
			return nil, &OverrideError{o.index, "patch", err}
		}
	}
	out, err := node.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("writing the object: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(out); err != nil {
		return nil, fmt.Errorf("spec.overrides: what is left is no object: %w", err)
	}
	return object, nil
}

func applyOne(node *yaml.RNode, o override) (*yaml.RNode, error) {
	if o.kind == fleetv1alpha1.PatchJSON6902 {
		nodes, err := patchjson6902.Filter{Patch: string(o.patch)}.Filter([]*yaml.RNode{node})
		if err != nil {
			return nil, err
		}
		return nodes[0], nil
	}
	var patch map[string]any
	if err := json.Unmarshal(o.patch, &patch); err != nil {
		return nil, fmt.Errorf("a strategic merge patch is an object: %w", err)
	}
	meta, err := node.GetMeta()
	if err != nil {
		return nil, err
	}
	patch["apiVersion"], patch["kind"] = meta.APIVersion, meta.Kind // the schema is looked up by these
	parsed, err := yaml.FromMap(patch)
	if err != nil {
		return nil, err
	}
	// What is new goes to the end of a list, as kubectl patch has it: kustomize's own order, the
	// patched elements first, would change which container or subset is the first one.
	merged, err := merge2.Merge(parsed, node, yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListAppend})
	if err != nil {
		return nil, err
	}
	if merged.IsNilOrEmpty() {
		return nil, fmt.Errorf("deletes the whole object")
	}
	return merged, nil
}
