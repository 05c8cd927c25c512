// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

func TestImages(t *testing.T) {
	client, runtime := dial(t)
	if id, err := client.ImageID(t.Context(), "a:1"); id != "" || err != nil {
		t.Errorf("an image that is not there: %q, %v", id, err)
	}
	runtime.Images.Lock("a:1", "key")
	_, err := client.PullImage(t.Context(), cri.Pull{Image: "a:1"})
	if err == nil || cri.Words(err) != `failed to pull image "a:1": 401 Unauthorized` {
		t.Errorf("without a key: %v", err)
	}
	pull := cri.Pull{Image: "a:1", Auth: &cri.Auth{Username: "u", Password: "key"}, Annotations: map[string]string{"x": "y"}}
	if _, err := client.PullImage(t.Context(), pull); err != nil {
		t.Errorf("with the key: %v", err)
	}
	if id, err := client.ImageID(t.Context(), "a:1"); id == "" || err != nil {
		t.Errorf("an image that is there: %q, %v", id, err)
	}
	want := []crifake.Pull{{Image: "a:1"}, {Image: "a:1", Username: "u", Password: "key", Annotations: map[string]string{"x": "y"}}}
	if diff := cmp.Diff(want, runtime.Images.Pulls()); diff != "" {
		t.Error(diff)
	}
	runtime.Images.Fail("a:2", "a:2: not found")
	if _, err := client.PullImage(t.Context(), cri.Pull{Image: "a:2"}); !errors.Is(err, cri.ErrNotFound) || cri.Words(err) != "a:2: not found" {
		t.Errorf("a tag that is not there: %v", err)
	}
}

// A pull has no bound but its context, and breaks with its connection.
func TestPullThatTakesLong(t *testing.T) {
	client, runtime := dial(t)
	release := runtime.Images.Hold("a:1")
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.PullImage(ctx, cri.Pull{Image: "a:1"}); err == nil || ctx.Err() == nil {
		t.Errorf("ended with %v", err)
	}
	broken := make(chan error)
	go func() {
		_, err := client.PullImage(t.Context(), cri.Pull{Image: "a:1"})
		broken <- err
	}()
	for len(runtime.Images.Pulls()) < 2 {
		time.Sleep(time.Millisecond)
	}
	runtime.Stop()
	if err := <-broken; !errors.Is(err, cri.ErrUnavailable) {
		t.Errorf("the runtime stopped: %v", err)
	}
}

func TestAwait(t *testing.T) {
	h := newHost(t)
	connector, _ := h.start(cri.Finder{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connector.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	got := make(chan error)
	go func() {
		client, err := connector.Await(t.Context())
		if err == nil && !strings.HasSuffix(client.Endpoint(), "containerd.sock") {
			err = errors.New(client.Endpoint())
		}
		got <- err
	}()
	h.serve(crifake.New("containerd"), "containerd.sock")
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("not told that the runtime is there")
	}
}
