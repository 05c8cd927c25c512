// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
)

func TestParse(t *testing.T) {
	env := map[string]string{"READY_DELAY": "2s", "VERSION": "v7", "LATENCY": "1ms"}
	tests := map[string]struct {
		args    []string
		env     map[string]string
		want    settings
		wantErr string
	}{
		"defaults":        {want: settings{listen: ":8080", version: "unknown"}},
		"environment":     {env: env, want: settings{listen: ":8080", version: "v7", readyDelay: 2 * time.Second, latency: time.Millisecond}},
		"flags win":       {args: []string{"--ready-delay=3s"}, env: env, want: settings{listen: ":8080", version: "v7", readyDelay: 3 * time.Second, latency: time.Millisecond}},
		"bad flag":        {args: []string{"--latency=x"}, wantErr: "latency"},
		"bad environment": {env: map[string]string{"STOP_DELAY": "x"}, wantErr: "STOP_DELAY"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(tc.args, func(k string) string { return tc.env[k] })
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v does not name %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settings{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	s := settings{version: "v1", readyDelay: time.Hour}
	young, old := newHandler(s, time.Now()), newHandler(s, time.Now().Add(-2*time.Hour))
	steps := []struct {
		handler      http.Handler
		method, body string
		want         int
	}{
		{young, http.MethodGet, "", http.StatusServiceUnavailable},
		{old, http.MethodGet, "", http.StatusOK},
		{old, http.MethodPut, "false\n", http.StatusNoContent},
		{old, http.MethodGet, "", http.StatusServiceUnavailable},
		{young, http.MethodPut, "true", http.StatusNoContent},
		{young, http.MethodGet, "", http.StatusOK},
	}
	for i, step := range steps {
		w := httptest.NewRecorder()
		step.handler.ServeHTTP(w, httptest.NewRequest(step.method, "/readyz", strings.NewReader(step.body)))
		if w.Code != step.want {
			t.Errorf("step %d: %s answered %d, want %d", i, step.method, w.Code, step.want)
		}
	}
}

func TestVersion(t *testing.T) {
	h := newHandler(settings{version: "v3"}, time.Now())
	for path, want := range map[string]string{"/version": "v3\n", "/": "web v3 "} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%s: got %q, want it to begin with %q", path, w.Body, want)
		}
	}
}

// A client of gRPC understands the answers, and others are answered as before.
func TestHealthByGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(settings{version: "v1"}, time.Now())
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, want := range []health.HealthCheckResponse_ServingStatus{health.HealthCheckResponse_SERVING, health.HealthCheckResponse_NOT_SERVING} {
		got, err := health.NewHealthClient(conn).Check(t.Context(), &health.HealthCheckRequest{Service: "any"})
		if err != nil || got.GetStatus() != want {
			t.Errorf("got %v, %v; want %s", got, err, want)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+listener.Addr().String()+"/readyz", strings.NewReader("false"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
