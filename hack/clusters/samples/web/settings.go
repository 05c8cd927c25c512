// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// versionFile holds the version that was baked into the image.
const versionFile = "/version"

type settings struct {
	listen, version                            string
	startDelay, readyDelay, latency, stopDelay time.Duration
}

// parse reads flags; what they do not give comes from the environment.
func parse(args []string, env func(string) string) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("web", flag.ContinueOnError)
	fs.StringVar(&s.listen, "listen", ":8080", "address to listen on")
	fs.StringVar(&s.version, "version", baked(), "version to report")
	fs.DurationVar(&s.startDelay, "start-delay", 0, "time before it listens at all")
	fs.DurationVar(&s.readyDelay, "ready-delay", 0, "time before /readyz answers 200")
	fs.DurationVar(&s.latency, "latency", 0, "time added to each answer of / and /version")
	fs.DurationVar(&s.stopDelay, "stop-delay", 0, "time from SIGTERM to the exit")
	var bad error
	fs.VisitAll(func(f *flag.Flag) {
		name := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v := env(name); v != "" && bad == nil {
			if err := f.Value.Set(v); err != nil {
				bad = fmt.Errorf("%s=%q: %w", name, v, err)
			}
		}
	})
	if bad != nil {
		return s, bad
	}
	return s, fs.Parse(args)
}

func baked() string {
	raw, err := os.ReadFile(versionFile)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(raw))
}
