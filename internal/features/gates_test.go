// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/featuregate"
)

const root = "../.."

func TestGatesAreOpenKruises(t *testing.T) {
	gates := Gates()
	if len(gates) != 36 {
		t.Errorf("%d gates, OpenKruise has 36", len(gates))
	}
	if !slices.IsSortedFunc(gates, func(a, b Info) int { return strings.Compare(string(a.Name), string(b.Name)) }) {
		t.Error("the table is not in order of names")
	}
	var on []featuregate.Feature
	for _, g := range gates {
		if g.Default {
			on = append(on, g.Name)
		}
		if g.Effect == "" || (g.Stage != Alpha && g.Stage != Beta) {
			t.Errorf("%s: too little is said: %+v", g.Name, g)
		}
	}
	want := []featuregate.Feature{
		DaemonWatchingPod, InPlaceUpdateEnvFromMetadata, KruiseDaemon, PodIndexLabel, PodProbeMarkerGate, PodUnavailableBudgetDeleteGate, PodWebhook,
		StatefulSetAutoDeletePVC, WorkloadSpread,
	}
	if d := cmp.Diff(want, on); d != "" {
		t.Error(d)
	}
}

// TestReadersAreTrue: the table names exactly the packages whose code asks for a gate.
func TestReadersAreTrue(t *testing.T) {
	use := regexp.MustCompile(`\bfeatures\.([A-Z]\w+)`)
	found := map[string][]string{}
	for _, top := range []string{"hub", "internal", "nodeagent", "spoke"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			for _, m := range use.FindAllSubmatch(code, -1) {
				found[string(m[1])] = append(found[string(m[1])], filepath.ToSlash(folder))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range Gates() {
		want := slices.Compact(slices.Sorted(slices.Values(found[string(g.Name)])))
		if d := cmp.Diff(want, g.Readers); d != "" {
			t.Errorf("%s: change Readers in gates.go and docs/feature-gates.md: read in (-), the table says (+)\n%s", g.Name, d)
		}
	}
}

// TestPageShowsTheTable compares docs/feature-gates.md.
func TestPageShowsTheTable(t *testing.T) {
	var want strings.Builder
	for _, g := range Gates() {
		readers := "no effect yet"
		if len(g.Readers) > 0 {
			readers = "`" + strings.Join(g.Readers, "`, `") + "`"
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s | %s |\n", g.Name, word(g.Default), g.Stage, g.Effect, readers)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "feature-gates.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(page), "|---|---|---|---|---|\n")
	got, _, _ = strings.Cut(got, "\n\n")
	if d := cmp.Diff(want.String(), got+"\n"); d != "" {
		t.Errorf("the table of docs/feature-gates.md is not as it should be (-want +got):\n%s\nwrite:\n%s", d, want.String())
	}
}
