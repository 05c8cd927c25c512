// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

const modulePath = "github.com/flotilla-sh/flotilla"

// Root is the repository that the working folder is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		raw, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil && strings.HasPrefix(string(raw), "module "+modulePath+"\n") {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not in a working copy of %s", dir, modulePath)
		}
	}
}

// environment is what the parts work with for the cluster.
func environment(c *state.Cluster, report *progress.Reporter) *run.Env {
	return &run.Env{
		Cluster:   c,
		Processes: process.Open(c.Dir),
		Source:    assets.Source{Root: c.Root, Dir: c.Options.Assets, Progress: report},
		Progress:  report,
	}
}

// lock takes the set's lock, so that no two tools change it at a time.
func lock(c *state.Cluster, report *progress.Reporter) (func(), error) {
	path := filepath.Join(filepath.Dir(c.Dir), "."+c.Options.Name+".lock")
	unlock, ok, err := state.TryLock(path)
	if err != nil || ok {
		return unlock, err
	}
	report.Printf("wait for another run that is changing %s", c.Options.Name)
	return state.Lock(path)
}

// loadOrNew returns the stored state with the options brought up to date, or a new one.
func loadOrNew(root string, asked state.Options, set func(string) bool) (*state.Cluster, error) {
	c, err := state.Load(root, asked.Name)
	if errors.Is(err, state.ErrNone) {
		return state.New(root, asked), asked.Validate()
	}
	if err != nil {
		return nil, err
	}
	if c.Options, err = state.Merge(c.Options, asked, set); err != nil {
		return nil, err
	}
	return c, c.Options.Validate()
}
