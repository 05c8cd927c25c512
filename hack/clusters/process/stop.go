// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// killWait bounds the wait for a killed process to be gone.
const killWait = 5 * time.Second

// Undo stops the processes this Group started, latest first.
func (g *Group) Undo(ctx context.Context) error {
	names := g.Started()
	slices.Reverse(names)
	return g.Stop(ctx, names...)
}

// Stop stops the named processes by role; unknown names and dead processes are no error.
func (g *Group) Stop(ctx context.Context, names ...string) error {
	return g.stopWhere(ctx, func(r record) bool { return slices.Contains(names, r.Name) })
}

// StopRole stops the processes of one role.
func (g *Group) StopRole(ctx context.Context, role Role) error {
	return g.stopWhere(ctx, func(r record) bool { return r.Role == role })
}

// StopAll stops everything of the set by role, then whatever carries the set's mark without being recorded.
func (g *Group) StopAll(ctx context.Context) error {
	err := g.stopWhere(ctx, func(record) bool { return true })
	return errors.Join(err, g.sweep(ctx))
}

func (g *Group) stopWhere(ctx context.Context, want func(record) bool) error {
	records, err := g.records()
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r record) bool { return !want(r) })
	var errs []error
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].Role == records[0].Role {
			n++
		}
		errs = append(errs, g.stop(ctx, records[:n]))
		records = records[n:]
	}
	return errors.Join(errs...)
}

// sweep stops processes that carry the mark: children left behind, and processes whose record was lost.
func (g *Group) sweep(ctx context.Context) error {
	var left []record
	for pid, id := range marked(g.mark()) {
		left = append(left, record{Name: fmt.Sprintf("process %d", pid), PID: pid, Start: id, Grace: 2 * time.Second})
	}
	return terminate(ctx, left)
}

// stop stops the processes at once together and forgets them.
func (g *Group) stop(ctx context.Context, records []record) error {
	if err := terminate(ctx, records); err != nil {
		return err
	}
	return g.forget(records)
}

// terminate asks the processes to end and kills those that do not within their grace.
func terminate(ctx context.Context, records []record) error {
	began := time.Now()
	for _, r := range records {
		signal(r, unix.SIGTERM)
	}
	left := slices.Clone(records)
	killed := false
	for {
		left = slices.DeleteFunc(left, func(r record) bool { return !r.runs() })
		if len(left) == 0 {
			return nil
		}
		if ctx.Err() != nil || time.Since(began) > longestGrace(left)+killWait {
			return fmt.Errorf("%s (pid %d) does not end", left[0].Name, left[0].PID)
		}
		for _, r := range left {
			if time.Since(began) > r.Grace {
				signal(r, unix.SIGKILL)
				killed = true
			}
		}
		pause(killed)
	}
}

func pause(short bool) {
	d := 50 * time.Millisecond
	if short {
		d = 20 * time.Millisecond
	}
	time.Sleep(d)
}

func longestGrace(records []record) time.Duration {
	var d time.Duration
	for _, r := range records {
		d = max(d, r.Grace)
	}
	return d
}

// signal sends the signal if the very process of the record still runs. A pid file descriptor pins the process between
// the check and the signal.
func signal(r record, sig unix.Signal) {
	fd, err := unix.PidfdOpen(r.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if r.runs() {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
