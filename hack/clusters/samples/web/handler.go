// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

type handler struct {
	settings
	host    string
	readyAt time.Time
	// forced is what a client has made of readiness: nil for nothing.
	forced atomic.Pointer[bool]
}

func newHandler(s settings, started time.Time) http.Handler {
	host, _ := os.Hostname()
	h := &handler{settings: s, host: host, readyAt: started.Add(s.readyDelay)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.slow(func() string { return fmt.Sprintf("web %s %s\n", h.version, h.host) }))
	mux.HandleFunc("GET /version", h.slow(func() string { return h.version + "\n" }))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.getReady)
	mux.HandleFunc("PUT /readyz", h.putReady)
	mux.HandleFunc("POST /grpc.health.v1.Health/Check", h.check)
	return mux
}

func (h *handler) slow(text func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait(r.Context(), h.latency) {
			fmt.Fprint(w, text())
		}
	}
}

func (h *handler) ready() bool {
	if forced := h.forced.Load(); forced != nil {
		return *forced
	}
	return !time.Now().Before(h.readyAt)
}

func (h *handler) getReady(w http.ResponseWriter, _ *http.Request) {
	if !h.ready() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

func (h *handler) putReady(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ready := strings.TrimSpace(string(body)) == "true"
	h.forced.Store(&ready)
	w.WriteHeader(http.StatusNoContent)
}

// check answers by gRPC: SERVING or NOT_SERVING, whatever service is asked for. One field of one message needs no library,
// and the image stays small.
func (h *handler) check(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<10)) // the answer is the same for all
	status := byte(2)
	if h.ready() {
		status = 1
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write([]byte{0, 0, 0, 0, 2, 8, status}) // not compressed, two bytes: field 1, a number
	w.Header().Set("Grpc-Status", "0")
}
