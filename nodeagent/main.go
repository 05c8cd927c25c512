// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-sh/flotilla/nodeagent/setup"
)

// gcPercent makes the collector run early: every node pays for our memory, and there is little to collect.
const gcPercent = 40

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	options := setup.NewOptions()
	options.AddFlags(pflag.CommandLine)
	pflag.Parse()
	err := options.Complete()
	if err == nil {
		err = setup.Run(ctrl.SetupSignalHandler(), options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flotilla-nodeagent:", err)
		os.Exit(1)
	}
}
