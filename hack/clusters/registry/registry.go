// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/flotilla-sh/flotilla/hack/clusters/images"
)

// Handler returns a registry that holds the images.
func Handler(ctx context.Context, list []images.Image) (http.Handler, error) {
	handler := short(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	if err := images.Push(ctx, "127.0.0.1:5000", direct{handler}, list...); err != nil {
		return nil, err
	}
	return handler, nil
}

// Serve serves a registry with the images at address (host:port) until ctx ends, and logs every request to requests.
func Serve(ctx context.Context, address string, list []images.Image, requests *log.Logger) error {
	handler, err := Handler(ctx, list)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	requests.Printf("serves %d images at %s", len(list), listener.Addr())
	server := &http.Server{Handler: logged(handler, requests), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// short cuts repository names down to their last path element.
func short(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := shorten(r.URL.Path); path != r.URL.Path {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = path, ""
		}
		next.ServeHTTP(w, r)
	})
}

// shorten rewrites /v2/a/b/web/manifests/v1 to /v2/web/manifests/v1, likewise for blobs, tags and referrers; other
// paths stay as they are.
func shorten(path string) string {
	rest, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return path
	}
	for _, verb := range []string{"/manifests/", "/blobs/", "/tags/", "/referrers/"} {
		if at := strings.LastIndex(rest, verb); at > 0 {
			repository := rest[:at]
			return "/v2/" + repository[strings.LastIndexByte(repository, '/')+1:] + rest[at:]
		}
	}
	return path
}

// direct hands requests to a handler without a network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	d.handler.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func logged(next http.Handler, requests *log.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(status, r)
		requests.Printf("%s %s %d", r.Method, r.URL, status.status)
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
