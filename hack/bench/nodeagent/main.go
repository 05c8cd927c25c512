// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"text/tabwriter"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// options are what is measured.
type options struct {
	nodes, parallelism, images int
	out                        string
	keep                       bool
}

// figure is one line of the table.
type figure struct {
	Name  string  `json:"figure"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func main() {
	o := options{nodes: 500, parallelism: 50, images: 200, out: ".bench/nodeagent.json"}
	pflag.IntVar(&o.nodes, "nodes", o.nodes, "simulated nodes that pull")
	pflag.IntVar(&o.parallelism, "parallelism", o.parallelism, "nodes that pull at once")
	pflag.IntVar(&o.images, "images", o.images, "images in the NodeImage of the real agent")
	pflag.StringVar(&o.out, "out", o.out, "file for the figures as JSON")
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
	fleet, err := harness.Up(ctx, harness.Options{Name: "bench-nodeagent", Members: 1, FakeNodes: o.nodes})
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() { err = errors.Join(err, fleet.Down(context.WithoutCancel(ctx))) }()
	}
	b := &bench{options: o, fleet: fleet, member: fleet.Members[0]}
	err = errors.Join(b.job(ctx), b.agent(ctx))
	return errors.Join(err, b.report())
}

// report prints the table and saves the figures.
func (b *bench) report() error {
	fmt.Printf("\none ImagePullJob over %d simulated nodes, parallelism %d; one agent with %d images\n\n", b.nodes, b.parallelism, b.images)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, f := range b.figures {
		fmt.Fprintf(w, "%s\t%.2f\t%s\t\n", f.Name, f.Value, f.Unit)
	}
	_ = w.Flush() // to a terminal
	data, err := json.MarshalIndent(map[string]any{"nodes": b.nodes, "parallelism": b.parallelism, "images": b.images, "figures": b.figures}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(b.out, append(data, '\n'), 0o644)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
