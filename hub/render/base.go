// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// Base returns the part of a hub object that goes to members: no status, and of the metadata only name,
// namespace, labels and annotations, without those that kubectl and this project keep for the hub. The
// result shares the rest with the object: do not change it in place.
func Base(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := make(map[string]any, len(object.Object))
	for k, v := range object.Object {
		if k != "status" && k != "metadata" {
			out[k] = v
		}
	}
	metadata := map[string]any{"name": object.GetName()}
	if ns := object.GetNamespace(); ns != "" {
		metadata["namespace"] = ns
	}
	if labels := forMembers(object.GetLabels()); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if annotations := forMembers(object.GetAnnotations()); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	out["metadata"] = metadata
	return &unstructured.Unstructured{Object: out}
}

func forMembers(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		if k != corev1.LastAppliedConfigAnnotation && !hasGroup(k, fleetv1alpha1.GroupName) {
			out[k] = v
		}
	}
	return out
}

// hasGroup tells whether a label or annotation key belongs to an API group or one below it.
func hasGroup(key, group string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	return ok && (prefix == group || strings.HasSuffix(prefix, "."+group))
}
