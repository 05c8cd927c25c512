// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// ownPackages are our own programs and the packages they are built from, relative to the repository.
var ownPackages = map[string]string{
	"flotilla-hub":       "./hub",
	"flotilla-spoke":     "./spoke",
	"flotilla-nodeagent": "./nodeagent",
}

// Own builds our own programs into dir and returns their paths. Go's build cache makes this quick where nothing
// changed; a program whose bytes did not change keeps its file.
func (s Source) Own(ctx context.Context, dir string, names ...string) (map[string]string, error) {
	paths := map[string]string{}
	for i, name := range names {
		pkg, known := ownPackages[name]
		if !known {
			return nil, fmt.Errorf("no such program: %s", name)
		}
		paths[name] = filepath.Join(dir, name)
		done := s.Progress.Quiet(2*time.Second, 20*time.Second, "build %s (%d of %d)", name, i+1, len(names))
		err := s.buildOwn(ctx, paths[name], pkg)
		done(err)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", name, err)
		}
	}
	return paths, nil
}

// buildOwn lets go write to a file of its own, which it leaves alone where nothing changed, and copies that to path only
// where it differs: path may be running.
func (s Source) buildOwn(ctx context.Context, path, pkg string) error {
	fresh := filepath.Join(filepath.Dir(path), ".build", filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(fresh), 0o755); err != nil {
		return err
	}
	if err := goBuild(ctx, s.Root, []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", fresh, pkg}); err != nil {
		return err
	}
	raw, err := os.ReadFile(fresh)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, raw) {
		return nil
	}
	return state.WriteFile(path, raw, 0o755)
}
