// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package forward

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestParseRule(t *testing.T) {
	want := Rule{Listen: "198.18.0.1:443", Target: "127.0.0.1:20000"}
	if got, err := ParseRule(want.String()); err != nil || got != want {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "=", "a=", "=b", "a"} {
		if _, err := ParseRule(bad); err == nil {
			t.Errorf("%q is taken for a rule", bad)
		}
	}
}

func TestServe(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer target.Close()
	listen := freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan error, 1)
	events := log.New(onFirstWrite(func() { close(started) }), "", 0)
	go func() { ended <- Serve(ctx, []Rule{{Listen: listen, Target: target.Listener.Addr().String()}}, events) }()
	<-started
	response, err := http.Post("http://"+listen, "text/plain", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("got status %d through the forwarder", response.StatusCode)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeFailsWhereItCannotListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	rules := []Rule{{Listen: taken.Addr().String(), Target: "127.0.0.1:1"}}
	if err := Serve(t.Context(), rules, log.New(io.Discard, "", 0)); err == nil {
		t.Error("no error although the address is taken")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// firstWrite calls a function at the first write to it.
type firstWrite struct {
	do   func()
	done bool
}

func onFirstWrite(do func()) io.Writer { return &firstWrite{do: do} }

func (w *firstWrite) Write(p []byte) (int, error) {
	if !w.done {
		w.done = true
		w.do()
	}
	return len(p), nil
}
