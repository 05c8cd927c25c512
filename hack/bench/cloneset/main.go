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

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// options are what is measured.
type options struct {
	pods, rest, nodes int
	out, only         string
	keep              bool
}

func main() {
	o := options{pods: 1000, rest: 5000, nodes: 60, out: ".bench/cloneset.json"}
	pflag.IntVar(&o.pods, "pods", o.pods, "pods of the workloads that change")
	pflag.IntVar(&o.rest, "rest", o.rest, "pods of the CloneSet that is watched at rest; 0 leaves it out")
	pflag.IntVar(&o.nodes, "nodes", o.nodes, "simulated nodes")
	pflag.StringVar(&o.out, "out", o.out, "file for the figures as JSON")
	pflag.StringVar(&o.only, "only", o.only, "measure only contenders whose names contain this")
	pflag.BoolVar(&o.keep, "keep", o.keep, "leave the cluster up")
	pflag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run brings a cluster up, measures, and takes it down again whatever happens.
func run(ctx context.Context, o options) (err error) {
	say("starting a hub and one member of %d simulated nodes", o.nodes)
	fleet, err := harness.Up(ctx, harness.Options{Name: "bench-cloneset", Members: 1, FakeNodes: o.nodes})
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() { err = errors.Join(err, fleet.Down(context.WithoutCancel(ctx))) }()
	}
	b, err := newBench(fleet, o)
	if err != nil {
		return err
	}
	rows, err := b.measure(ctx)
	show(o, rows)
	return errors.Join(err, write(o, rows))
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
