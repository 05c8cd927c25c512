// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

// patience is how long a test waits for what must come; the agent promises 10 s after the runtime is back.
const patience = 10 * time.Second

// host is a directory that stands for the host's /run.
type host struct {
	t   *testing.T
	dir string
}

func newHost(t *testing.T) host {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri") // t.TempDir would make paths too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return host{t: t, dir: dir}
}

func (h host) path(name string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h host) serve(r *crifake.Runtime, name string) {
	h.t.Helper()
	if err := r.Serve(h.path(name)); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(r.Stop)
}

// start runs a Connector and returns it with its statuses.
func (h host) start(finder cri.Finder) (*cri.Connector, <-chan cri.Status) {
	finder.Dirs = []string{h.dir}
	c := cri.NewConnector(finder, logr.Discard())
	statuses := c.Subscribe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("Start ended with %v", err)
		}
	})
	return c, statuses
}

func await(t *testing.T, statuses <-chan cri.Status, state cri.State, words ...string) cri.Status {
	t.Helper()
	timeout := time.After(patience)
	var last cri.Status
	for {
		select {
		case last = <-statuses:
			if last.State == state && containsAll(last.Reason, words) {
				return last
			}
		case <-timeout:
			t.Fatalf("no %s that says %q within %s; last: %+v", state, words, patience, last)
		}
	}
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

func TestFindsEachWellKnownSocket(t *testing.T) {
	for socket, name := range map[string]string{
		"containerd.sock": "containerd", "containerd/containerd.sock": "containerd", "crio.sock": "cri-o", "crio/crio.sock": "cri-o",
		"cri-dockerd.sock": "docker", "cri-dockerd/cri-dockerd.sock": "docker", "k3s/containerd/containerd.sock": "containerd", "k0s/containerd.sock": "containerd",
	} {
		t.Run(socket, func(t *testing.T) {
			h := newHost(t)
			h.serve(crifake.New(name), socket)
			_, statuses := h.start(cri.Finder{})
			got := await(t, statuses, cri.Up)
			if got.Runtime.Name != name || got.Endpoint != "unix://"+filepath.Join(h.dir, socket) {
				t.Errorf("connected to %+v", got)
			}
		})
	}
}

func TestExplicitSocketWinsOverKnownOnes(t *testing.T) {
	h := newHost(t)
	h.serve(crifake.New("containerd"), "containerd/containerd.sock")
	h.serve(crifake.New("cri-o"), "elsewhere/my.sock")
	_, statuses := h.start(cri.Finder{
		Explicit:       "elsewhere/my.sock",
		KubeletRuntime: func(context.Context) string { return "containerd" },
	})
	if got := await(t, statuses, cri.Up); got.Runtime.Name != "cri-o" {
		t.Errorf("connected to %+v", got)
	}
}

func TestExplicitSocketIsNeverReplacedByAKnownOne(t *testing.T) {
	h := newHost(t)
	h.serve(crifake.New("containerd"), "containerd/containerd.sock")
	_, statuses := h.start(cri.Finder{Explicit: "my.sock"})
	await(t, statuses, cri.Searching, "my.sock", "not there")
	mine := crifake.New("containerd")
	h.serve(mine, "my.sock")
	if got := await(t, statuses, cri.Up); got.Endpoint != "unix://"+filepath.Join(h.dir, "my.sock") {
		t.Errorf("connected to %+v", got)
	}
}

// A node that runs Docker (its containerd has CRI off) beside the runtime of its kubelet.
func TestSeveralRuntimesPresent(t *testing.T) {
	h := newHost(t)
	docker := crifake.New("containerd")
	if err := docker.ServeWithoutCRI(h.path("containerd/containerd.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(docker.Stop)
	if err := crifake.LeaveSocket(h.path("containerd.sock")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.path("crio.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kubelets := crifake.New("containerd")
	kubelets.Run(crifake.Container{PodUID: "u", Name: "main"})
	h.serve(crifake.New("docker"), "cri-dockerd.sock")
	h.serve(kubelets, "k3s/containerd/containerd.sock")
	_, statuses := h.start(cri.Finder{})
	if got := await(t, statuses, cri.Up); !strings.HasSuffix(got.Endpoint, "k3s/containerd/containerd.sock") {
		t.Errorf("connected to %+v", got)
	}
}

// KD-01: a node whose runtime the agent cannot use has a reason to read, and the agent lives on.
func TestUnusableRuntimeIsAStateWithAReason(t *testing.T) {
	h := newHost(t)
	old := crifake.New("containerd")
	if err := old.ServeWithoutCRI(h.path("containerd/containerd.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Stop)
	c, statuses := h.start(cri.Finder{})
	await(t, statuses, cri.Searching, "containerd/containerd.sock", "does not serve CRI v1")
	if _, err := c.Current(); !errors.Is(err, cri.ErrUnavailable) || !strings.Contains(err.Error(), "CRI v1") {
		t.Errorf("Current: %v", err)
	}
}

func TestSocketAppearsLater(t *testing.T) {
	h := newHost(t)
	_, statuses := h.start(cri.Finder{})
	await(t, statuses, cri.Searching, "none of the known sockets")
	h.serve(crifake.New("cri-o"), "crio/crio.sock")
	if got := await(t, statuses, cri.Up); got.Runtime.Name != "cri-o" {
		t.Errorf("connected to %+v", got)
	}
}

func TestRuntimeRestarts(t *testing.T) {
	h := newHost(t)
	runtime := crifake.New("containerd")
	id := runtime.Run(crifake.Container{Name: "main", Hash: "abc"})
	h.serve(runtime, "containerd/containerd.sock")
	c, statuses := h.start(cri.Finder{})
	for range 3 {
		await(t, statuses, cri.Up)
		client, err := c.Current()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Container(t.Context(), id); err != nil || got.Annotations[cri.AnnotationContainerHash] != "abc" {
			t.Errorf("Container = %+v, %v", got, err)
		}
		runtime.Stop()
		await(t, statuses, cri.Lost)
		if _, err := client.Container(t.Context(), id); !errors.Is(err, cri.ErrUnavailable) {
			t.Errorf("a call on the lost connection: %v, want ErrUnavailable", err)
		}
		h.serve(runtime, "containerd/containerd.sock")
	}
	await(t, statuses, cri.Up)
}

// The runtime comes back under another path: the search is made anew, not only the old address dialled.
func TestRuntimeMoves(t *testing.T) {
	h := newHost(t)
	runtime := crifake.New("containerd")
	h.serve(runtime, "containerd.sock")
	_, statuses := h.start(cri.Finder{})
	await(t, statuses, cri.Up)
	runtime.Stop()
	h.serve(runtime, "k3s/containerd/containerd.sock")
	if got := await(t, statuses, cri.Up); !strings.HasSuffix(got.Endpoint, "k3s/containerd/containerd.sock") {
		t.Errorf("connected to %+v", got)
	}
}
