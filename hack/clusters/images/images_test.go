// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// fakePrograms writes files in the place of the programs.
func fakePrograms(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range names {
		if err := os.WriteFile(filepath.Join(dir, p), []byte("program "+p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func digests(t *testing.T, list []Image, err error) map[string]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, i := range list {
		out[i.Name()] = i.Digest.String()
	}
	return out
}

func TestSamplesDiffer(t *testing.T) {
	list, err := Samples(fakePrograms(t, programs()...))
	got := digests(t, list, err)
	if len(got) != len(catalog()) {
		t.Errorf("%d images of different names, want %d", len(got), len(catalog()))
	}
	if got["web:v1"] != got["web:v1-same"] {
		t.Error("web:v1 and web:v1-same differ")
	}
	delete(got, "web:v1-same")
	seen := map[string]string{}
	for image, digest := range got {
		if other, ok := seen[digest]; ok {
			t.Errorf("%s and %s are the same image", image, other)
		}
		seen[digest] = image
	}
}

func TestSamplesAreReproducible(t *testing.T) {
	one, err1 := Samples(fakePrograms(t, programs()...))
	two, err2 := Samples(fakePrograms(t, programs()...))
	if diff := cmp.Diff(digests(t, one, err1), digests(t, two, err2)); diff != "" {
		t.Error(diff)
	}
}

func TestTagsShareLayers(t *testing.T) {
	list, err := Samples(fakePrograms(t, programs()...))
	if err != nil {
		t.Fatal(err)
	}
	one, two := layerDigests(t, list[0]), layerDigests(t, list[1])
	if diff := cmp.Diff(one[:2], two[:2]); diff != "" {
		t.Errorf("%s and %s: %s", list[0].Name(), list[1].Name(), diff)
	}
	if one[2] == two[2] {
		t.Error("the version layers are the same")
	}
}

func layerDigests(t *testing.T, i Image) []string {
	t.Helper()
	m, err := i.Image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range m.Layers {
		out = append(out, l.Digest.String())
	}
	return out
}

func TestArchiveRoundTrip(t *testing.T) {
	binaries, out := fakePrograms(t, "flotilla-hub", "flotilla-spoke"), t.TempDir()
	list, err := ArchiveAll(binaries, out, "v0")
	want := digests(t, list, err)
	if len(want) != 2 {
		t.Fatalf("got images %v, want two", want)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	address := server.Listener.Addr().String()
	got := map[string]string{}
	for _, p := range []string{"flotilla-hub", "flotilla-spoke"} {
		loaded, cleanup, err := Load(filepath.Join(out, p+".tar"))
		if err != nil {
			t.Fatal(err)
		}
		defer cleanup()
		if err := Push(t.Context(), address, nil, loaded...); err != nil {
			t.Fatal(err)
		}
		ref, err := name.ParseReference(address+"/"+loaded[0].Name(), name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		head, err := remote.Head(ref)
		if err != nil {
			t.Fatal(err)
		}
		got[loaded[0].Name()] = head.Digest.String()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArchiveAllWithoutPrograms(t *testing.T) {
	if _, err := ArchiveAll(t.TempDir(), t.TempDir(), "v0"); err == nil {
		t.Error("no error although there is no program")
	}
}
