// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// read makes the objects of one kind typed.
func read[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var out []T
	for _, obj := range objects {
		if obj.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &typed); err != nil {
			t.Fatal(err)
		}
		out = append(out, typed)
	}
	if len(out) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return out
}

// TestDeletionsAreNotHeldUp: while our webhooks are down, objects and namespaces can be deleted.
func TestDeletionsAreNotHeldUp(t *testing.T) {
	for _, component := range []string{"hub", "spoke"} {
		objects := build(t, filepath.Join(testkit.Root(), "kustomize", component))
		for _, cfg := range read[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration") {
			for _, hook := range cfg.Webhooks {
				for _, rule := range hook.Rules {
					if slices.Contains(rule.Operations, admissionv1.Delete) || slices.Contains(rule.Operations, admissionv1.OperationAll) {
						t.Errorf("%s: %s is asked about deletions", component, hook.Name)
					}
				}
			}
		}
	}
}
