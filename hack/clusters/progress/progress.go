// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Reporter writes progress lines. It is safe for concurrent use; the zero value and nil write nothing.
type Reporter struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// New returns a reporter that writes to out and counts elapsed time from now.
func New(out io.Writer) *Reporter {
	return &Reporter{out: out, start: time.Now()}
}

// Printf writes one line, prefixed with the seconds since the reporter began.
func (r *Reporter) Printf(format string, args ...any) {
	if r == nil || r.out == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "[%5.1fs] %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

// Task announces a long task and repeats its name with the time it has taken every interval until the returned
// function is called with the task's outcome, which is printed too. The function must be called exactly once.
func (r *Reporter) Task(interval time.Duration, format string, args ...any) func(error) {
	return r.Quiet(0, interval, format, args...)
}

// Quiet is Task for a task that often takes no time: nothing is printed of one that is done before the delay.
func (r *Reporter) Quiet(delay, interval time.Duration, format string, args ...any) func(error) {
	t := &task{reporter: r, name: fmt.Sprintf(format, args...), began: time.Now()}
	if delay == 0 {
		r.Printf("%s", t.name)
		t.told = true
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t.watch(stop, delay, interval)
	}()
	return func(err error) {
		close(stop)
		<-stopped
		t.end(err)
	}
}

// task is a task under way. Its fields belong to watch until that has returned.
type task struct {
	reporter *Reporter
	name     string
	began    time.Time
	told     bool // the user knows of it
}

// watch gives signs of life until stop is closed.
func (t *task) watch(stop <-chan struct{}, delay, interval time.Duration) {
	if !t.told {
		select {
		case <-stop:
			return
		case <-time.After(delay):
			t.reporter.Printf("%s", t.name)
			t.told = true
		}
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			t.reporter.Printf("%s: still at it after %s", t.name, time.Since(t.began).Round(time.Second))
		}
	}
}

func (t *task) end(err error) {
	took := time.Since(t.began).Round(100 * time.Millisecond)
	switch {
	case err != nil:
		t.reporter.Printf("%s: failed after %s", t.name, took)
	case t.told:
		t.reporter.Printf("%s: done in %s", t.name, took)
	}
}
