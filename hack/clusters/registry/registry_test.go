// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/flotilla-sh/flotilla/hack/clusters/images"
)

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"/v2/":                           "/v2/",
		"/v2/web/manifests/v1":           "/v2/web/manifests/v1",
		"/v2/library/web/manifests/v1":   "/v2/web/manifests/v1",
		"/v2/a/b/c/web/blobs/sha256:00":  "/v2/web/blobs/sha256:00",
		"/v2/shop/web/blobs/uploads/1":   "/v2/web/blobs/uploads/1",
		"/v2/manifests/web/manifests/v1": "/v2/web/manifests/v1",
		"/v2/shop/web/tags/list":         "/v2/web/tags/list",
		"/v2/_catalog":                   "/v2/_catalog",
		"/healthz":                       "/healthz",
	} {
		if got := shorten(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestAnyNameFindsTheImage(t *testing.T) {
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := Handler(t.Context(), []images.Image{{Repository: "web", Tag: "v1", Digest: digest, Image: image}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	host := server.Listener.Addr().String()
	for image, found := range map[string]bool{
		"web:v1": true, "library/web:v1": true, "team/shop/web:v1": true, "web@" + digest.String(): true,
		"web:v9": false, "other:v1": false,
	} {
		ref, err := name.ParseReference(host+"/"+image, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Image(ref)
		if !found {
			var answer *transport.Error
			if !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound {
				t.Errorf("%s: got %v, want 404", image, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", image, err)
			continue
		}
		if d, err := got.Digest(); err != nil || d != digest {
			t.Errorf("%s: got %s, %v, want %s", image, d, err, digest)
		}
	}
}
