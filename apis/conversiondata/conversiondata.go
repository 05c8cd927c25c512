// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiondata

import (
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotation holds, as JSON, an object with the version that has the place as its key. Conversions write
// and read it; nobody else has a use for it.
const Annotation = "internal.apps.kruise.io/conversion-data"

// Take takes the annotation off an object and reads into what the given version had put there. It says
// whether there was something that could be read. The map of annotations is replaced, not changed, since
// conversions share it.
func Take(meta *metav1.ObjectMeta, version string, into any) bool {
	text, present := meta.Annotations[Annotation]
	if !present {
		return false
	}
	Annotate(meta, Annotation, nil)
	var kept map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &kept) != nil || kept[version] == nil {
		return false
	}
	return json.Unmarshal(kept[version], into) == nil
}

// Put keeps what the given version of an object says and the object cannot. It keeps nothing when the JSON
// of data has no field. The error is the one of marshalling data.
func Put(meta *metav1.ObjectMeta, version string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("keeping what only %s has: %w", version, err)
	}
	if string(text) == "{}" || string(text) == "null" {
		return nil
	}
	kept, err := json.Marshal(map[string]json.RawMessage{version: text})
	if err != nil {
		return fmt.Errorf("keeping what only %s has: %w", version, err)
	}
	value := string(kept)
	Annotate(meta, Annotation, &value)
	return nil
}

// Annotate sets an annotation, or takes it out when value is nil. The map of annotations is replaced, not
// changed; an empty one becomes nil.
func Annotate(meta *metav1.ObjectMeta, key string, value *string) {
	annotations := maps.Clone(meta.Annotations)
	switch {
	case value == nil:
		delete(annotations, key)
	case annotations == nil:
		annotations = map[string]string{key: *value}
	default:
		annotations[key] = *value
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	meta.Annotations = annotations
}

// Value returns an annotation, nil when it is absent.
func Value(annotations map[string]string, key string) *string {
	value, present := annotations[key]
	if !present {
		return nil
	}
	return &value
}

// Same says whether two annotation values are both absent or equal.
func Same(a, b *string) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}
