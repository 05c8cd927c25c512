// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/lru"
)

// remembered bounds how many rendered objects are kept.
const remembered = 512

// Renderer applies overrides and remembers the outcome. Its methods may be called concurrently.
type Renderer struct {
	memo *lru.Cache
}

type outcome struct {
	object *unstructured.Unstructured
	err    error
}

// New makes a Renderer that remembers nothing yet.
func New() *Renderer { return &Renderer{memo: lru.New(remembered)} }

// Render applies the overrides to the object, in order. Without overrides it returns the object itself;
// else equal input gives the very same object again. Neither may be changed in place. An error names
// the override.
func (r *Renderer) Render(object *unstructured.Unstructured, overrides Overrides) (*unstructured.Unstructured, error) {
	if len(overrides.list) == 0 {
		return object, nil
	}
	data, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("writing the object as JSON: %w", err)
	}
	k := keyOf(data, overrides)
	if known, ok := r.memo.Get(k); ok {
		return known.(outcome).object, known.(outcome).err
	}
	rendered, err := apply(data, overrides)
	if err == nil {
		err = sameIdentity(object, rendered)
	}
	r.memo.Add(k, outcome{rendered, err})
	return rendered, err
}

func keyOf(data []byte, overrides Overrides) [sha256.Size]byte {
	h := sha256.New()
	_, _ = h.Write(data) // a hash never fails to write
	for _, o := range overrides.list {
		_, _ = fmt.Fprintf(h, "\x00%d\x00%s\x00%s", o.index, o.kind, o.patch)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func sameIdentity(before, after *unstructured.Unstructured) error {
	switch {
	case after.GroupVersionKind() != before.GroupVersionKind():
		return fmt.Errorf("spec.overrides: must not change apiVersion and kind of the object")
	case after.GetName() != before.GetName() || after.GetNamespace() != before.GetNamespace():
		return fmt.Errorf("spec.overrides: must not change name and namespace of the object")
	}
	return nil
}
