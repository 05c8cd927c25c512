// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	name := filepath.Base(os.Args[0])
	tool, ok := tools[name]
	if !ok {
		name, tool = "sleeper", sleeper
	}
	if err := tool(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func sleeper(args []string, out stdout) error {
	fs := flag.NewFlagSet("sleeper", flag.ContinueOnError)
	length := fs.String("for", os.Getenv("SLEEP_FOR"), "how long to sleep; for ever when empty")
	if err := fs.Parse(args); err != nil {
		return err
	}
	d, err := parseLength(*length)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "sleeping, pid %d\n", os.Getpid())
	doze(d)
	return nil
}

// doze returns when d has passed (never for a negative d) or when the process is asked to stop.
func doze(d time.Duration) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt)
	var over <-chan time.Time
	if d >= 0 {
		over = time.After(d)
	}
	select {
	case <-asked:
	case <-over:
	}
}
