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
	name := fmt.Sprintf(format, args...)
	began := time.Now()
	r.Printf("%s", name)
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				r.Printf("%s: still at it after %s", name, time.Since(began).Round(time.Second))
			}
		}
	}()
	return func(err error) {
		close(stop)
		took := time.Since(began).Round(100 * time.Millisecond)
		if err != nil {
			r.Printf("%s: failed after %s", name, took)
			return
		}
		r.Printf("%s: done in %s", name, took)
	}
}
