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

	"github.com/flotilla-sh/flotilla/hub/split"
)

// Replicas is the object's spec.replicas, 1 when it does not say. The error names the field.
func Replicas(object *unstructured.Unstructured) (int32, error) {
	n, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	switch {
	case err != nil:
		return 0, fmt.Errorf("spec.replicas: %w", err)
	case !found:
		return 1, nil
	case n < 0 || n > int64(split.Unbounded):
		return 0, fmt.Errorf("spec.replicas: %d is out of range", n)
	}
	return int32(n), nil
}

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
