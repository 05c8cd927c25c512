// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// maxPrefix keeps a revision's name within the 253 characters of an object name.
const maxPrefix = 223

// Payload serialises a pod template as a revision's data. It fails only on a template that JSON
// cannot hold.
func Payload(template *corev1.PodTemplateSpec) ([]byte, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("pod template: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("pod template: %w", err)
	}
	WithCreationTimestamps(tree)
	return PayloadOf(tree)
}

// PayloadOf serialises a template of any shape, read as JSON, as a revision's data.
func PayloadOf(template map[string]any) ([]byte, error) {
	template["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
}

// WithCreationTimestamps puts back the nulls that Kubernetes libraries before 0.34 wrote for every
// metadata embedded in a pod template: its own and those of ephemeral volume claims.
func WithCreationTimestamps(template map[string]any) {
	NullTimestamp(template)
	spec, _ := template["spec"].(map[string]any)
	nullClaimTimestamps(spec["volumes"])
}

// nullClaimTimestamps does it for the claims of ephemeral volumes.
func nullClaimTimestamps(list any) {
	volumes, _ := list.([]any)
	for i := range volumes {
		volume, _ := volumes[i].(map[string]any)
		ephemeral, _ := volume["ephemeral"].(map[string]any)
		if claim, ok := ephemeral["volumeClaimTemplate"].(map[string]any); ok {
			NullTimestamp(claim)
		}
	}
}

// NullTimestamp gives the metadata of an object read as JSON the null creationTimestamp.
func NullTimestamp(holder map[string]any) {
	metadata, ok := holder["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		holder["metadata"] = metadata
	}
	if _, ok := metadata["creationTimestamp"]; !ok {
		metadata["creationTimestamp"] = nil
	}
}

// Template reads the pod template back from a revision's data.
func Template(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var payload struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Data.Raw, &payload); err != nil {
		return nil, fmt.Errorf("revision %s: %w", r.Name, err)
	}
	if payload.Spec.Template == nil {
		return nil, fmt.Errorf("revision %s has no pod template", r.Name)
	}
	return payload.Spec.Template, nil
}

// Hash returns the short hash of a payload; collisions is how often that name was taken, nil for never.
func Hash(payload []byte, collisions *int32) string {
	h := fnv.New32()
	_, _ = h.Write(payload)
	_, _ = fmt.Fprint(h, ptr.Deref(collisions, 0)) // controllers that never saw a collision hash the zero too
	return encode(h.Sum32())
}

// Name returns the name of a workload's revision. Names longer than 223 characters are cut.
func Name(workload, hash string) string {
	if len(workload) > maxPrefix {
		workload = workload[:maxPrefix]
	}
	return workload + "-" + hash
}

// Equal says whether two payloads mean the same: equal bytes, or equal after both were read as pod
// templates of the present types, so that absent and null and key order make no difference.
func Equal(a, b *appsv1.ControllerRevision) bool {
	if bytes.Equal(a.Data.Raw, b.Data.Raw) {
		return true
	}
	return meansTheSame(a, b)
}

func meansTheSame(a, b *appsv1.ControllerRevision) bool {
	left, err := canonical(a)
	if err != nil {
		return false
	}
	right, err := canonical(b)
	if err != nil {
		return false
	}
	return reflect.DeepEqual(left, right)
}

// canonical reads the payload with nulls removed, so that fields unknown to the present types still
// count.
func canonical(r *appsv1.ControllerRevision) (any, error) {
	var tree any
	if err := json.Unmarshal(r.Data.Raw, &tree); err != nil {
		return nil, err
	}
	return withoutNulls(tree), nil
}

func withoutNulls(node any) any {
	switch node := node.(type) {
	case map[string]any:
		for key, child := range node {
			if child == nil {
				delete(node, key)
				continue
			}
			node[key] = withoutNulls(child)
		}
	case []any:
		for i := range node {
			node[i] = withoutNulls(node[i])
		}
	}
	return node
}
