// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	for _, name := range names {
		pkg, known := ownPackages[name]
		if !known {
			return nil, fmt.Errorf("no such program: %s", name)
		}
		paths[name] = filepath.Join(dir, name)
		if err := s.buildOwn(ctx, paths[name], pkg); err != nil {
			return nil, fmt.Errorf("build %s: %w", name, err)
		}
	}
	return paths, nil
}

func (s Source) buildOwn(ctx context.Context, path, pkg string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".new"
	defer os.Remove(tmp)
	if err := goBuild(ctx, s.Root, []string{"build", "-trimpath", "-o", tmp, pkg}); err != nil {
		return err
	}
	fresh, err := os.ReadFile(tmp)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, fresh) {
		return nil
	}
	return os.Rename(tmp, path)
}
