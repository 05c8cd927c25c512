// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// folders are all folders under kustomize/ with a kustomization.
func folders(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(testkit.Root(), "kustomize"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "kustomization.yaml" {
			out = append(out, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(out) < 8 {
		t.Fatalf("found %v, %v", out, err)
	}
	return out
}

func TestEveryKustomizationApplies(t *testing.T) {
	server := testkit.Start(t)
	c, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range folders(t) {
		name, _ := filepath.Rel(testkit.Root(), dir)
		t.Run(name, func(t *testing.T) {
			objects := build(t, dir)
			if len(objects) == 0 {
				t.Fatal("builds nothing")
			}
			applyAll(t, c, objects)
		})
	}
}

// applyAll applies objects, and makes the namespaces they are in.
func applyAll(t *testing.T, c client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range inOrder(objects) {
		ensureNamespace(t, c, obj.GetNamespace())
		desired := client.ApplyConfigurationFromUnstructured(obj.DeepCopy())
		if err := c.Apply(context.Background(), desired, client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// inOrder puts namespaces first, as kubectl does.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return btoi(b.GetKind() == "Namespace") - btoi(a.GetKind() == "Namespace")
	})
	return objects
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func ensureNamespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	if name == "" {
		return
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	if err := client.IgnoreAlreadyExists(c.Create(context.Background(), ns)); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsLeftToChance(t *testing.T) {
	for _, dir := range []string{"hub", "spoke", "nodeagent"} {
		for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", dir)) {
			if got := obj.GetLabels()["app.kubernetes.io/part-of"]; got != "flotilla" {
				t.Errorf("%s: %s %s lacks the label by which the webhook keeper finds what is ours", dir, obj.GetKind(), obj.GetName())
			}
			if strings.HasPrefix(obj.GetKind(), "ValidatingAdmissionPolicy") && obj.GetNamespace() != "" {
				t.Errorf("%s: %s %s is in a namespace", dir, obj.GetKind(), obj.GetName())
			}
		}
	}
}
