// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The code keeps to the rules.
func TestArchitecture(t *testing.T) {
	packages, err := List(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 10 {
		t.Fatalf("only %d packages were found", len(packages))
	}
	for _, breach := range Check(packages) {
		t.Error(breach)
	}
}

// A module that breaks every rule is caught at each: what is wrong with it is written in testdata/bad.
func TestBadModuleIsCaught(t *testing.T) {
	packages, err := List(filepath.Join("testdata", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "bad", "breaches.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if diff := cmp.Diff(want, Check(packages)); diff != "" {
		t.Errorf("breaches (-want +got):\n%s", diff)
	}
}

// What is reached by way of others counts for the rules that say so.
func TestImportsByWayOfOthers(t *testing.T) {
	got := Check([]Package{
		{ImportPath: Module + "/hub/split", Imports: []string{Module + "/internal/x"}, Deps: []string{Module + "/internal/x", "k8s.io/client-go/rest"}},
		{ImportPath: Module + "/internal/x", Imports: []string{"k8s.io/client-go/rest"}, Deps: []string{"k8s.io/client-go/rest"}},
		{ImportPath: Module + "/spoke/cloneset", Imports: []string{"example.com/x"}, Deps: []string{"example.com/x", "k8s.io/kubernetes/pkg/apis/core"}},
		{ImportPath: "example.com/x", Imports: []string{"k8s.io/kubernetes/pkg/apis/core"}},
	})
	want := []string{
		"hub/split imports k8s.io/client-go/rest, perhaps by way of others: a planner decides from what it is given",
		"spoke/cloneset imports k8s.io/kubernetes/pkg/apis/core: it is no library; only the module that builds the local clusters names it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("breaches (-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, folder string
		want            bool
	}{
		{"hub", "hub", true}, {"hub", "hub/x", false}, {"hub", "hubx", false},
		{"hub/*", "hub/x", true}, {"hub/*", "hub", false}, {"hub/*", "hub/x/y", false},
		{"hub/**", "hub", true}, {"hub/**", "hub/x/y", true}, {"hub/**", "hubx/y", false},
	} {
		if got := matches(c.pattern, c.folder); got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.folder, got)
		}
	}
}
