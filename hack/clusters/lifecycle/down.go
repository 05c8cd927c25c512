// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Down stops the set's processes, removes its interfaces and deletes its folder. It is no error if there is no such
// set.
func Down(ctx context.Context, root, name string, report *progress.Reporter) error {
	c, err := state.Load(root, name)
	if errors.Is(err, state.ErrNone) {
		report.Printf("%s is not up; nothing to do", name)
		return os.RemoveAll(state.Dir(root, name)) // logs of an `up` that failed
	}
	if err != nil {
		return err
	}
	unlock, err := lock(c, report)
	if err != nil {
		return err
	}
	defer unlock()
	env := environment(c, report)
	list, err := env.Processes.List()
	if err != nil {
		return err
	}
	if err := stopEverything(ctx, env); err != nil {
		return err
	}
	if err := errors.Join(c.Release(), os.RemoveAll(c.Dir)); err != nil {
		return err
	}
	report.Printf("%s is down; stopped %d processes", name, len(list))
	return nil
}

// stopEverything stops all processes of the set and lets each part remove what it left outside the set's folder. It goes
// on after errors.
func stopEverything(ctx context.Context, env *run.Env) error {
	all := parts()
	slices.Reverse(all)
	var errs []error
	for _, p := range all {
		if p.PreDown != nil {
			errs = append(errs, named(p, p.PreDown(ctx, env)))
		}
	}
	errs = append(errs, env.Processes.StopAll(ctx))
	for _, p := range all {
		if p.Down != nil {
			errs = append(errs, named(p, p.Down(ctx, env)))
		}
	}
	return errors.Join(errs...)
}

func named(p run.Part, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", p.Name, err)
}
