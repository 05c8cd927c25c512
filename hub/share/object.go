// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Revision is the hub's name for the revision of an object: it changes with spec.template and nothing
// else. It is "" for objects without a template.
func Revision(object *unstructured.Unstructured) string {
	template, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "template")
	if err != nil || !found {
		return ""
	}
	data, err := json.Marshal(template)
	if err != nil {
		data = nil // JSON came in, so JSON goes out
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // a hash never fails to write
	return object.GetName() + "-" + rand.SafeEncodeString(fmt.Sprintf("%016x", h.Sum64()))[:10]
}

// Child replaces a nested map by a shallow copy of it, or by an empty one, and returns that: parent, a
// copy itself, may then be changed there without touching what it was copied from.
func Child(parent map[string]any, name string) map[string]any {
	old, _ := parent[name].(map[string]any)
	fresh := maps.Clone(old)
	if fresh == nil {
		fresh = map[string]any{}
	}
	parent[name] = fresh
	return fresh
}
