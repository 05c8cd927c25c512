// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	content "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
)

func image(digest string, sizes ...any) manifest {
	m := manifest{digest: digest}
	for i := 0; i < len(sizes); i += 2 {
		m.blobs = append(m.blobs, blob{Digest: sizes[i].(string), Size: int64(sizes[i+1].(int))})
	}
	return m
}

func TestAdd(t *testing.T) {
	v1, v2 := image("v1", "base", 100, "one", 300), image("v2", "base", 100, "two", 500, "conf", 0)
	for name, tc := range map[string]struct {
		manifests []manifest
		present   map[string]bool
		ingests   map[string]int64
		want      Fetched
		percent   int32
		known     bool
	}{
		"nothing is fetched":                    {manifests: []manifest{v1}, present: map[string]bool{"base": true}},
		"no manifest yet":                       {ingests: map[string]int64{"one": 50}},
		"the first bytes":                       {manifests: []manifest{v1}, ingests: map[string]int64{"one": 0}, want: Fetched{0, 400}, known: true},
		"two layers at once":                    {manifests: []manifest{v1}, ingests: map[string]int64{"one": 150, "base": 50}, want: Fetched{200, 400}, percent: 50, known: true},
		"a layer was there":                     {manifests: []manifest{v1}, present: map[string]bool{"base": true}, ingests: map[string]int64{"one": 100}, want: Fetched{200, 400}, percent: 50, known: true},
		"an image of the repository is done":    {manifests: []manifest{v1, v2}, present: map[string]bool{"base": true, "one": true}, ingests: map[string]int64{"two": 200}, want: Fetched{300, 600}, percent: 50, known: true},
		"two images share a layer":              {manifests: []manifest{v1, v2}, present: map[string]bool{"base": true}, ingests: map[string]int64{"one": 100, "two": 250}, want: Fetched{450, 900}, percent: 50, known: true},
		"other platforms of an index":           {manifests: []manifest{v1, image("arm", "arm", 900)}, ingests: map[string]int64{"one": 100}, want: Fetched{100, 400}, percent: 25, known: true},
		"all bytes are there, none is unpacked": {manifests: []manifest{v1}, present: map[string]bool{"base": true}, ingests: map[string]int64{"one": 300}, want: Fetched{400, 400}, percent: 99, known: true},
		"more bytes than were told":             {manifests: []manifest{v1}, ingests: map[string]int64{"one": 900}, want: Fetched{300, 400}, percent: 75, known: true},
		"sizes are not told":                    {manifests: []manifest{image("v3", "three", 0)}, ingests: map[string]int64{"three": 10}},
	} {
		t.Run(name, func(t *testing.T) {
			got := add(tc.manifests, tc.present, tc.ingests)
			percent, known := got.Percent()
			if got != tc.want || percent != tc.percent || known != tc.known {
				t.Errorf("got %+v, %d%% (known: %v)", got, percent, known)
			}
		})
	}
}

// Whatever a registry makes up, a percentage is one.
func TestPercentIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	sizes := []int64{math.MinInt64, -1, 0, 1, 1 << 39, math.MaxInt64}
	for range 2000 {
		var m []manifest
		ingests, present := map[string]int64{}, map[string]bool{}
		for range random.IntN(4) {
			raw := `{"config":{"digest":"c","size":7},"layers":[`
			var parts []string
			for range random.IntN(6) {
				digest := string(rune('a' + random.IntN(9)))
				parts = append(parts, `{"digest":"`+digest+`","size":`+strconv.FormatInt(sizes[random.IntN(len(sizes))], 10)+`}`)
				ingests[digest], present[digest] = sizes[random.IntN(len(sizes))], random.IntN(2) == 0
			}
			read, err := manifestOf("m", []byte(raw+strings.Join(parts, ",")+"]}"))
			if err != nil {
				t.Fatal(err)
			}
			m = append(m, read)
		}
		got := add(m, present, ingests)
		if percent, _ := got.Percent(); percent < 0 || percent > almost || got.Done < 0 || got.Done > got.Total {
			t.Fatalf("%+v is %d%%", got, percent)
		}
	}
}

func TestManifestOf(t *testing.T) {
	for name, raw := range map[string]string{
		"no JSON":         `<html>`,
		"too many layers": `{"layers":[` + strings.Repeat(`{"digest":"sha256:1"},`, mostBlobs) + `{"digest":"sha256:1"}]}`,
		"a long digest":   `{"layers":[{"digest":"sha256:1"},{"digest":"sha256:` + strings.Repeat("f", longestDigest) + `"}]}`,
	} {
		if m, err := manifestOf("m", []byte(raw)); err == nil || len(m.blobs) > 0 {
			t.Errorf("%s: %v", name, m)
		}
	}
	index, err := manifestOf("m", []byte(`{"manifests":[{"digest":"sha256:1","size":1}]}`))
	if err != nil || len(index.blobs) > 0 {
		t.Errorf("an index has no layers: %v %v", index, err)
	}
}

// unread is a content service of which nothing may be read.
type unread struct {
	content.ContentClient
	t *testing.T
}

func (u unread) Read(context.Context, *content.ReadContentRequest, ...grpc.CallOption) (content.Content_ReadClient, error) {
	u.t.Error("it was read")
	return nil, errors.New("not to be read")
}

// What the runtime says of a manifest's size is not believed when it cannot be.
func TestManifestOfImpossibleSize(t *testing.T) {
	s := &store{service: unread{t: t}, known: map[string]manifest{}}
	for _, size := range []int64{-1, math.MinInt64, largestManifest + 1, math.MaxInt64} {
		m, err := s.manifest(t.Context(), &content.Info{Digest: "sha256:" + strconv.FormatInt(size, 10), Size: size})
		if err != nil || len(m.blobs) > 0 {
			t.Errorf("%d bytes: %v, %v", size, m, err)
		}
	}
}

func TestOnly(t *testing.T) {
	all := []manifest{{digest: "sha256:1"}, {digest: "sha256:2"}}
	for digest, want := range map[string]int{"": 2, "sha256:2": 1, "sha256:index": 2} {
		if got := only(digest, all); len(got) != want {
			t.Errorf("%q: %v", digest, got)
		}
	}
}

func TestSource(t *testing.T) {
	for name, want := range map[string][3]string{
		"nginx:1.25":                           {"docker.io", "library/nginx", ""},
		"team/app:v1":                          {"docker.io", "team/app", ""},
		"docker.io/library/nginx:1":            {"docker.io", "library/nginx", ""},
		"index.docker.io/team/app:1":           {"docker.io", "team/app", ""},
		"quay.io/org/app@sha256:a":             {"quay.io", "org/app", "sha256:a"},
		"registry.example.com:5000/a/b/c:v1":   {"registry.example.com", "a/b/c", ""},
		"localhost/app:v1":                     {"localhost", "app", ""},
		"[fd00::1]:5000/app:v1":                {"fd00::1", "app", ""},
		"registry.example.com/app:v1@sha256:b": {"registry.example.com", "app", "sha256:b"},
	} {
		host, repository, digest := source(name)
		if got := [3]string{host, repository, digest}; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
