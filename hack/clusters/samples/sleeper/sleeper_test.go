// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestParseLength(t *testing.T) {
	for in, want := range map[string]time.Duration{"": -1, "infinity": -1, "3600": time.Hour, "0.5": 500 * time.Millisecond, "2m": 2 * time.Minute} {
		if got, err := parseLength(in); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"-1", "soon", "-3s"} {
		if got, err := parseLength(in); err == nil {
			t.Errorf("%q: got %s, want an error", in, got)
		}
	}
}

func TestTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	steps := []struct {
		tool string
		args []string
		out  string
		fail bool
	}{
		{tool: "cat", args: []string{file}, fail: true},
		{tool: "touch", args: []string{file}},
		{tool: "cat", args: []string{file}},
		{tool: "rm", args: []string{"-f", file}},
		{tool: "cat", args: []string{file}, fail: true},
		{tool: "echo", args: []string{"a", "b"}, out: "a b\n"},
		{tool: "sleep", args: []string{"0"}},
		{tool: "dial", args: []string{listener.Addr().String()}},
		{tool: "dial", args: []string{"127.0.0.1:0"}, fail: true},
		{tool: "true"},
		{tool: "false", fail: true},
	}
	for i, step := range steps {
		var out bytes.Buffer
		err := tools[step.tool](step.args, &out)
		if (err != nil) != step.fail || out.String() != step.out {
			t.Errorf("step %d, %s: got %q, %v", i, step.tool, out.String(), err)
		}
	}
}
