// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
)

// options are what is measured.
type options struct {
	members  int
	replicas int32
	out      string
}

func main() {
	o := options{members: 100, replicas: 10000, out: ".bench/hub.json"}
	pflag.IntVar(&o.members, "members", o.members, "simulated members")
	pflag.Int32Var(&o.replicas, "replicas", o.replicas, "replicas of the UnitedDeployment")
	pflag.StringVar(&o.out, "out", o.out, "file for the figures as JSON")
	pflag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run brings the bench up, measures, and takes it down again whatever happens.
func run(ctx context.Context, o options) error {
	t := &teardown{}
	err := t.guard(func() error {
		b, err := newBench(ctx, t, o)
		if err != nil {
			return err
		}
		rows, err := b.measure(ctx)
		if err != nil {
			return err
		}
		show(o, rows)
		return write(o, rows)
	})
	return errors.Join(err, t.guard(t.run))
}

// fatal is the panic by which what called Fatalf is left.
type fatal struct{ error }

// teardown stands in for a test where testkit wants one.
type teardown struct {
	steps []func()
}

// guard calls do and turns a Fatalf into an error.
func (t *teardown) guard(do func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatal:
			err = r.error
		default:
			panic(r)
		}
	}()
	return do()
}

// Helper does nothing.
func (t *teardown) Helper() {}

// Fatalf ends the bench.
func (t *teardown) Fatalf(format string, args ...any) {
	panic(fatal{fmt.Errorf(format, args...)})
}

// Cleanup remembers a step for the end.
func (t *teardown) Cleanup(f func()) { t.steps = append(t.steps, f) }

// TempDir makes a folder that goes at the end.
func (t *teardown) TempDir() string {
	dir, err := os.MkdirTemp("", "flotilla-bench-")
	if err != nil {
		t.Fatalf("making a folder: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// run takes the steps, last first.
func (t *teardown) run() error {
	for i := len(t.steps) - 1; i >= 0; i-- {
		t.steps[i]()
	}
	return nil
}
