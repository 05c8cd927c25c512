// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// maxLog is the size in bytes beyond which a log is put aside (as NAME.log.1) before the next start.
const maxLog = 64 << 20

// Ensure sees to it that the process runs as asked and is ready. It reports whether it had to be started.
func (g *Group) Ensure(ctx context.Context, spec Spec) (started bool, err error) {
	old, err := readRecord(g.recordPath(spec.Name))
	if err != nil {
		return false, err
	}
	if old.runs() {
		if old.Hash == spec.hash() && g.stillReady(ctx, spec, old) {
			return false, nil
		}
		if err := errors.Join(context.Cause(ctx), g.stop(context.WithoutCancel(ctx), []record{old})); err != nil {
			return false, err
		}
	}
	rec, exited, err := g.start(spec)
	if err != nil {
		return false, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := g.waitReady(ctx, spec, rec, exited); err != nil {
		// A cancelled context must not keep the process from being stopped.
		return false, errors.Join(err, g.stop(context.WithoutCancel(ctx), []record{rec}))
	}
	return true, nil
}

// patience bounds how long a process that was started earlier may fail to answer before it is taken for stuck.
const patience = 15 * time.Second

// stillReady reports whether a process that was started earlier runs and answers.
func (g *Group) stillReady(ctx context.Context, spec Spec, rec record) bool {
	spec.Timeout = min(spec.timeout(), patience)
	return g.waitReady(ctx, spec, rec, nil) == nil
}

// Runs reports whether the process runs as asked, so that Ensure would leave it alone.
func (g *Group) Runs(spec Spec) bool {
	old, err := readRecord(g.recordPath(spec.Name))
	return err == nil && old.Hash == spec.hash() && old.runs()
}

// start starts the process and records it. The channel yields once, when the process ends while the tool still runs.
func (g *Group) start(spec Spec) (record, <-chan error, error) {
	log, offset, err := openLog(g.LogPath(spec.Name))
	if err != nil {
		return record{}, nil, err
	}
	defer log.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Dir, log, log
	cmd.Env = append(append(os.Environ(), spec.Env...), g.mark())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return record{}, nil, err
	}
	g.mu.Lock()
	g.started = append(g.started, spec.Name)
	g.mu.Unlock()
	exited := make(chan error, 1)
	id, err := identity(cmd.Process.Pid)
	go func() { exited <- cmd.Wait() }()
	rec := record{
		Name: spec.Name, Role: spec.Role, PID: cmd.Process.Pid, Start: id, Hash: spec.hash(),
		Path: spec.Path, Args: spec.Args, Grace: spec.grace(), Offset: offset,
	}
	return rec, exited, errors.Join(err, g.writeRecord(rec))
}

// openLog opens the log for appending and says where the next output goes.
func openLog(path string) (*os.File, int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, 0, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// waitReady waits until the process says it is ready. exited may be nil for a process that an earlier tool started.
func (g *Group) waitReady(ctx context.Context, spec Spec, rec record, exited <-chan error) error {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, spec.timeout())
	defer cancel()
	ready := spec.Ready
	if ready == nil {
		ready = settled(exited != nil)
	}
	last := errors.New("it did not answer")
	for {
		if err := ready(ctx); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case err := <-exited:
			return g.failure(rec, fmt.Sprintf("ended at once (%v)", exitText(err)))
		case <-ctx.Done():
			if parent.Err() != nil {
				return fmt.Errorf("start of %s given up: %w", rec.Name, context.Cause(parent))
			}
			return g.failure(rec, fmt.Sprintf("was not ready within %s: %v", spec.timeout(), last))
		case <-time.After(100 * time.Millisecond):
		}
		if exited == nil && !rec.runs() {
			return g.failure(rec, "ended")
		}
	}
}

// settled is the readiness of a process that offers no sign of it: half a second has passed.
func settled(fresh bool) func(context.Context) error {
	began := time.Now()
	return func(context.Context) error {
		if fresh && time.Since(began) < 500*time.Millisecond {
			return errors.New("just started")
		}
		return nil
	}
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// failure is the error that names the process and shows its last log lines.
func (g *Group) failure(rec record, what string) error {
	path := g.LogPath(rec.Name)
	lines := tail(path, rec.Offset, 15)
	if len(lines) == 0 {
		lines = []string{"(no output)"}
	}
	return fmt.Errorf("%s %s; its last log lines (%s):\n    %s", rec.Name, what, path, strings.Join(lines, "\n    "))
}

// Self copies the running program into the set's folder and returns the copy's path, for processes that are this
// tool's own subcommands: the program which `go run` builds does not outlive it.
func (g *Group) Self() (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	raw, err := os.ReadFile(exe)
	if err != nil {
		return "", err
	}
	path := filepath.Join(g.dir, "bin", "clusters")
	if same(path, raw) {
		return path, nil
	}
	return path, state.WriteFile(path, raw, 0o755)
}

func same(path string, raw []byte) bool {
	have, err := os.ReadFile(path)
	return err == nil && string(have) == string(raw)
}
