// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// interval between two looks.
const interval = 250 * time.Millisecond

// view shows the table of clusters and zones: redrawn in a terminal, a line for each change elsewhere.
type view struct {
	out    io.Writer
	redraw bool
	lines  int
	last   string
	began  time.Time
}

func newView() *view {
	return &view{out: os.Stdout, redraw: term.IsTerminal(int(os.Stdout.Fd())), began: time.Now()}
}

func (v *view) show(s seen) {
	if v.redraw {
		v.table(s)
		return
	}
	line := oneLine(s)
	if line != v.last {
		fmt.Fprintf(v.out, "%6.1fs  %s\n", time.Since(v.began).Seconds(), line)
		v.last = line
	}
}

func (v *view) table(s seen) {
	if v.lines > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", v.lines)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1fs  %-10s %-14s %5s %6s %8s\n", time.Since(v.began).Seconds(), "CLUSTER", "ZONE", "PODS", "READY", "UPDATED")
	for _, k := range s.spots() {
		c := s.cells[k]
		fmt.Fprintf(&b, "         %-10s %-14s %5d %6d %8d  %s\n", k.cluster, k.zone, c.pods, c.ready, c.updated, bar(c))
	}
	v.lines = strings.Count(b.String(), "\n")
	fmt.Fprint(v.out, b.String())
}

// bar draws one mark a pod: # updated and there, = old; at most 60.
func bar(c cell) string {
	n := min(c.pods, 60)
	u := min(c.updated, n)
	return strings.Repeat("#", u) + strings.Repeat("=", n-u)
}

func oneLine(s seen) string {
	parts := []string{}
	for _, k := range s.spots() {
		c := s.cells[k]
		parts = append(parts, fmt.Sprintf("%s/%s pods %d ready %d updated %d", k.cluster, k.zone, c.pods, c.ready, c.updated))
	}
	if len(parts) == 0 {
		return "no pods yet"
	}
	return strings.Join(parts, "; ")
}

// until looks again and again, shows what it sees, and returns the look that satisfies done.
func (w *world) until(ctx context.Context, what string, look func(context.Context) (seen, error), done func(seen) bool) (seen, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s: not so after %s", what, patience))
	defer cancel()
	v := newView()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		s, err := look(ctx)
		if err != nil && ctx.Err() == nil {
			return s, err
		}
		if err == nil {
			v.show(s)
			if done(s) {
				return s, nil
			}
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
