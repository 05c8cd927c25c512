// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFilesOfTheModule(t *testing.T) {
	dir, err := ModuleDir(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	hub, err := Hub(dir)
	if err != nil {
		t.Fatal(err)
	}
	member, err := Member(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"addondeploymentconfigs v1beta1", "addonplacementscores v1alpha1", "appliedmanifestworks v1",
		"clusterclaims v1alpha1", "clustermanagementaddons v1beta1", "managedclusteraddons v1beta1",
		"managedclusters v1", "managedclustersetbindings v1beta2", "managedclustersets v1beta2",
		"manifestworks v1", "placementdecisions v1beta1", "placements v1beta1",
	}
	got := map[string]bool{}
	for _, crd := range append(hub, member...) {
		got[strings.SplitN(crd.GetName(), ".", 2)[0]+" "+storageVersion(t, crd)] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("no CRD stored as %q; have %v", w, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d CRDs, want %d", len(got), len(want))
	}
}

func TestKeepOnlyVersion(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"versions": []any{
		map[string]any{"name": "v1alpha1", "storage": true},
		map[string]any{"name": "v1beta1", "storage": false},
	}}}}
	if err := keepOnlyVersion(crd, "v1"); err == nil {
		t.Error("a version that does not exist was accepted")
	}
	if err := keepOnlyVersion(crd, "v1beta1"); err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if diff := cmp.Diff([]any{map[string]any{"name": "v1beta1", "storage": true}}, versions); diff != "" {
		t.Error(diff)
	}
}

func TestHubOfAnotherFolder(t *testing.T) {
	if _, err := Hub(t.TempDir()); err == nil {
		t.Error("an empty folder gave CRDs")
	}
}

func storageVersion(t *testing.T, crd *unstructured.Unstructured) string {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if version := v.(map[string]any); version["storage"] == true {
			return version["name"].(string)
		}
	}
	t.Fatalf("%s has no storage version", crd.GetName())
	return ""
}

func TestModuleDirOutsideAModule(t *testing.T) {
	if dir, err := ModuleDir(t.Context(), t.TempDir()); err == nil {
		t.Errorf("found %s", dir)
	}
}
