// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

func TestProgress(t *testing.T) {
	store := crifake.NewContent()
	runtime := crifake.New("containerd")
	runtime.Content = store
	socket := filepath.Join(t.TempDir(), "s")
	if err := runtime.Serve(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runtime.Stop)
	client, err := cri.Dial(t.Context(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })

	const image = "registry.example.com:5000/team/web:v2"
	began := time.Now()
	is := func(when string, want cri.Fetched) {
		t.Helper()
		if got, err := client.Progress(t.Context(), image, began); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", when, got, err, want)
		}
	}
	is("before anything is fetched", cri.Fetched{})
	store.Ingest(crifake.Digest("one"), 10, began.Add(-time.Hour))
	store.AddManifest("registry.example.com", "team/old,team/web", map[string]int64{"base": 100, "one": 300})
	is("what a pull before us left behind", cri.Fetched{})
	store.AddManifest("registry.example.com", "team/web2", map[string]int64{"one": 900})
	store.AddManifest("elsewhere.example.com", "team/web", map[string]int64{"one": 900})
	store.AddManifest("registry.example.com", "team/web", map[string]int64{"of v1": 900})
	store.Ingest(crifake.Digest("one"), 150, time.Now())
	is("one layer is fetched", cri.Fetched{Done: 150, Total: 400})
	store.Add(crifake.Digest("base"), 100)
	is("the other layer is there", cri.Fetched{Done: 250, Total: 400})
	if n := store.Reads(); n != 1 {
		t.Errorf("%d reads: manifests are read once, and those alone that are fetched", n)
	}
	store.Add(crifake.Digest("one"), 300)
	is("all are there", cri.Fetched{})
}

// CRI-O and cri-dockerd have no store that could be read.
func TestProgressOfOtherRuntimes(t *testing.T) {
	client, _ := dial(t)
	if _, err := client.Progress(t.Context(), "a:1", time.Now()); !errors.Is(err, cri.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
