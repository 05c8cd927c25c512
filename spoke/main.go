// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // schedules name time zones, and images have no data of their own

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
	"github.com/flotilla-sh/flotilla/spoke/setup"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "flotilla-spoke:", err)
		os.Exit(1)
	}
}

func run() error {
	base := bootstrap.NewOptions("flotilla-spoke")
	hooks := webhookserver.NewOptions(base.Component, base.Namespace)
	opts := setup.Options{}
	base.AddFlags(pflag.CommandLine)
	hooks.AddFlags(pflag.CommandLine)
	opts.AddFlags(pflag.CommandLine)
	pflag.Parse()
	if err := base.Complete(); err != nil {
		return err
	}
	hooks.Namespace, base.Concurrency = base.Namespace, opts.Concurrency()
	cfg, err := base.RESTConfig()
	if err != nil {
		return err
	}
	mgr, err := base.Manager(cfg, setup.Scheme(), hooks.Server(), hooks.ByObject())
	if err != nil {
		return err
	}
	if err := setup.Add(mgr, hooks, opts); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
