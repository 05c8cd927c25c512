// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// undoTimeout bounds the clean-up after a failed `up`.
const undoTimeout = 30 * time.Second

// Up brings the set up, or repairs it: what runs as asked is left alone. set names the flags the user gave. When it
// fails, the processes it started are stopped again.
func Up(ctx context.Context, root string, asked state.Options, set func(string) bool, report *progress.Reporter) error {
	c, err := loadOrNew(root, asked, set)
	if err != nil {
		return err
	}
	unlock, err := lock(c, report)
	if err != nil {
		return err
	}
	defer unlock()
	// Again, under the lock: another run may have changed the state.
	if c, err = loadOrNew(root, asked, set); err != nil {
		return err
	}
	fresh := !c.Stored()
	if err := prepare(c); err != nil {
		return err
	}
	env := environment(c, report)
	if err := bring(ctx, env); err != nil {
		return errors.Join(err, undo(ctx, env, fresh))
	}
	if n := len(env.Processes.Started()); n == 0 {
		report.Printf("%s is up; nothing had to be done", c.Options.Name)
	} else {
		report.Printf("%s is up; started %s", c.Options.Name, strings.Join(env.Processes.Started(), ", "))
	}
	return nil
}

// prepare makes the set's folder and reserves its slot.
func prepare(c *state.Cluster) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if err := c.ReserveSlot(); err != nil {
		return err
	}
	return c.Save()
}

// bring gets the programs and brings the parts up in order.
func bring(ctx context.Context, env *run.Env) error {
	var err error
	if env.Programs, err = env.Source.Ensure(ctx, needs(env.Cluster.Options)...); err != nil {
		return err
	}
	for _, p := range parts() {
		if err := p.Up(ctx, env); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if err := env.Cluster.Save(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// needs are the programs that the parts want, each once.
func needs(o state.Options) []string {
	var names []string
	for _, p := range parts() {
		if p.Needs == nil {
			continue
		}
		for _, name := range p.Needs(o) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// undo stops what the failed run started. Of a set that did not exist before, only the logs stay; one of which nothing
// else runs gives its interfaces back and keeps its data for the next `up`.
func undo(ctx context.Context, env *run.Env, fresh bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	started := env.Processes.Started()
	if len(started) > 0 {
		env.Progress.Printf("stop what was started: %s", strings.Join(started, ", "))
	}
	running, err := othersRun(env, started)
	if err != nil {
		return err
	}
	if running {
		return env.Processes.Undo(ctx)
	}
	err = stopEverything(ctx, env)
	if err != nil || !fresh {
		return err
	}
	return errors.Join(env.Cluster.Release(), forgetButLogs(env.Cluster.Dir))
}

// forgetButLogs deletes everything in the set's folder but the logs.
func forgetButLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if e.Name() != "logs" {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// othersRun reports whether the set has running processes that an earlier `up` started.
func othersRun(env *run.Env, started []string) (bool, error) {
	list, err := env.Processes.List()
	for _, p := range list {
		if p.Running && !slices.Contains(started, p.Name) {
			return true, err
		}
	}
	return false, err
}
