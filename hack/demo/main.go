// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// patience bounds each wait of the demo.
const patience = 5 * time.Minute

type options struct {
	name    string
	members int
	real    bool
}

func main() {
	o := options{}
	pflag.StringVar(&o.name, "name", "demo", "name of the set of clusters")
	pflag.IntVar(&o.members, "members", 2, "member clusters")
	pflag.BoolVar(&o.real, "real", false, "real nodes (containerd and kubelet; needs root on Linux) instead of simulated ones")
	pflag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\nThe clusters are left as they are. Look: go run ./hack/clusters logs --name %s; stop: go run ./hack/clusters down --name %[2]s\n", err, o.name)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	say("1. A hub and %d member clusters on this machine (the first time, Kubernetes is compiled: about 15 minutes)", o.members)
	if err := clustersUp(ctx, o); err != nil {
		return err
	}
	w, err := openWorld(o)
	if err != nil {
		return err
	}
	fig := &figures{}
	for _, act := range []func(context.Context, *world, *figures) error{place, update, oldManifest} {
		if err := act(ctx, w, fig); err != nil {
			return err
		}
	}
	fig.print(os.Stdout, w)
	return nil
}

func clustersUp(ctx context.Context, o options) error {
	args := []string{"run", "./hack/clusters", "up", "--name", o.name, "--members", fmt.Sprint(o.members), "--zones", "a,b"}
	if o.real {
		args = append(args, "--real-nodes", "2", "--fake-nodes", "0")
	} else {
		args = append(args, "--fake-nodes", "4")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("bringing up the clusters: %w", err)
	}
	return nil
}

// say prints one heading of the story.
func say(format string, args ...any) { fmt.Printf("\n== "+format+"\n", args...) }
