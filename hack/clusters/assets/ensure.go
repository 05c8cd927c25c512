// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Source is where programs are taken from and built.
type Source struct {
	// Root is the repository, whose hack/clusters/kube holds the modules to build.
	Root string
	// Dir is a folder with ready-made programs that are taken before any other; may be empty.
	Dir string
	// Progress is told what is being built.
	Progress *progress.Reporter
}

// CacheDir is the folder of built programs: flotilla/bin in the user's cache folder.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "flotilla", "bin"), err
}

// Ensure is Source.Ensure of the repository at root, with ready-made programs from KUBEBUILDER_ASSETS alone.
func Ensure(ctx context.Context, root string, report *progress.Reporter, names ...string) (map[string]string, error) {
	return Source{Root: root, Progress: report}.Ensure(ctx, names...)
}

// Ensure returns the absolute path of each program asked for and builds what is not there yet, which takes seconds to
// many minutes.
func (s Source) Ensure(ctx context.Context, names ...string) (map[string]string, error) {
	paths := map[string]string{}
	var missing []string
	for _, name := range names {
		if _, known := programs[name]; !known {
			return nil, fmt.Errorf("no such program: %s", name)
		}
		path, found, err := s.locate(name)
		if err != nil {
			return nil, err
		}
		if _, again := paths[name]; !found && !again {
			missing = append(missing, name)
		}
		paths[name] = path
	}
	for i, name := range missing {
		if err := s.build(ctx, name, paths[name], fmt.Sprintf("%d of %d", i+1, len(missing))); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// Find returns where the program is, without building it; found is false where it would have to be built first.
func (s Source) Find(name string) (path string, found bool, err error) {
	if _, known := programs[name]; !known {
		return "", false, fmt.Errorf("no such program: %s", name)
	}
	return s.locate(name)
}

// locate returns where the program is or would be built to.
func (s Source) locate(name string) (path string, found bool, err error) {
	for _, dir := range []string{s.Dir, os.Getenv("KUBEBUILDER_ASSETS")} {
		if dir == "" {
			continue
		}
		if path, err = filepath.Abs(filepath.Join(dir, name)); err != nil || executable(path) {
			return path, err == nil, err
		}
	}
	p := programs[name]
	version, err := moduleVersion(s.Root, p.module)
	if err != nil {
		return "", false, err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", false, err
	}
	path = filepath.Join(cache, p.module+"-"+version, name)
	return path, executable(path), nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// build builds the program under the lock of its path, unless somebody else has done it meanwhile.
func (s Source) build(ctx context.Context, name, path, count string) (err error) {
	unlock, err := s.lock(filepath.Join(filepath.Dir(path), "."+name+".lock"), name)
	if err != nil {
		return err
	}
	defer unlock()
	if executable(path) {
		return nil
	}
	p := programs[name]
	version, err := moduleVersion(s.Root, p.module)
	if err != nil {
		return err
	}
	done := s.Progress.Task(20*time.Second, "build %s %s (%s)", name, version, count)
	defer func() { done(err) }()
	tmp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	defer os.Remove(tmp)
	if err := goBuild(ctx, moduleDir(s.Root, p.module), buildArgs(p, version, tmp)); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	return os.Rename(tmp, path)
}

func (s Source) lock(path, name string) (func(), error) {
	unlock, ok, err := state.TryLock(path)
	if err != nil || ok {
		return unlock, err
	}
	s.Progress.Printf("wait for another run that is building %s", name)
	return state.Lock(path)
}

// goBuild runs `go` in dir without cgo, so that the programs run on any Linux.
func goBuild(ctx context.Context, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", buildVCS())
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("go %s: %w\n    %s", strings.Join(args[:1], " "), err, strings.Join(lines[max(0, len(lines)-20):], "\n    "))
}

// buildVCS keeps the user's GOFLAGS and stops go from stamping the state of the working copy, which would change the
// programs at every commit.
func buildVCS() string {
	flags := os.Getenv("GOFLAGS")
	if strings.Contains(flags, "-buildvcs") {
		return "GOFLAGS=" + flags
	}
	return "GOFLAGS=" + strings.TrimSpace(flags+" -buildvcs=false")
}
