// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// TestKindsThatAreActedOn: the script that counts what nothing acts on, and the table that users read, name the kinds
// that the spoke has a controller for: one that is called as the kind is.
func TestKindsThatAreActedOn(t *testing.T) {
	kinds := map[string]string{} // by the name of the definition
	for _, crd := range build(t, filepath.Join(testkit.Root(), "kustomize", "crd-member")) {
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		kinds[crd.GetName()] = strings.ToLower(kind)
	}
	known := sets.New[string]()
	for _, kind := range kinds {
		known.Insert(kind)
	}
	controllers := known.Intersection(found(t, "spoke/setup/setup.go", `\{"([a-z]+)", `))
	documented := sets.New[string]()
	for row := range found(t, "docs/compatibility.md", `(?m)^\| ([A-Z].*) \| works`) {
		for _, word := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(row, -1) {
			documented.Insert(strings.ToLower(word))
		}
	}
	script := sets.New[string]()
	for list := range found(t, "hack/from-openkruise.sh", `(?m)^acted_on='(.*)'`) {
		for name := range strings.FieldsSeq(list) {
			script.Insert(kinds[name])
		}
	}
	if diff := cmp.Diff(sets.List(controllers), sets.List(documented.Intersection(known))); diff != "" || len(controllers) == 0 {
		t.Errorf("docs/compatibility.md (-controllers +documented):\n%s", diff)
	}
	if diff := cmp.Diff(sets.List(controllers), sets.List(script)); diff != "" {
		t.Errorf("hack/from-openkruise.sh (-controllers +acted_on):\n%s", diff)
	}
}

// found are the first groups of what matches in a file.
func found(t *testing.T, file, pattern string) sets.Set[string] {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), file))
	if err != nil {
		t.Fatal(err)
	}
	out := sets.New[string]()
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1) {
		out.Insert(match[1])
	}
	return out
}
