// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
)

func TestRaiseLimits(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "fs", "inotify")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"max_user_instances": "128\n", "max_user_watches": "600000\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	if err := raiseLimits(root, progress.New(&said)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"max_user_instances": "2048", "max_user_watches": "600000"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %s, want %s (%v)", name, got, want, err)
		}
	}
	if !strings.Contains(said.String(), "max_user_instances") || strings.Contains(said.String(), "max_user_watches") {
		t.Errorf("said %q", said.String())
	}
}
