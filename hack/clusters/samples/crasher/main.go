// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	after, code, err := parse(os.Args[1:], os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crasher:", err)
		os.Exit(2)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt)
	fmt.Printf("exits with %d in %s\n", code, after)
	select {
	case <-asked:
	case <-time.After(after):
		fmt.Fprintln(os.Stderr, "crashing as asked")
		os.Exit(code)
	}
}

// parse reads flags; what they do not give comes from the environment.
func parse(args []string, env func(string) string) (after time.Duration, code int, err error) {
	after, code = time.Second, 1
	if v := env("CRASH_AFTER"); v != "" {
		if after, err = time.ParseDuration(v); err != nil {
			return 0, 0, fmt.Errorf("CRASH_AFTER: %w", err)
		}
	}
	if v := env("CRASH_CODE"); v != "" {
		if code, err = strconv.Atoi(v); err != nil {
			return 0, 0, fmt.Errorf("CRASH_CODE: %w", err)
		}
	}
	fs := flag.NewFlagSet("crasher", flag.ContinueOnError)
	fs.DurationVar(&after, "after", after, "time until the exit")
	fs.IntVar(&code, "code", code, "exit code, 1 to 255")
	if err := fs.Parse(args); err != nil {
		return 0, 0, err
	}
	if code < 1 || code > 255 {
		return 0, 0, errors.New("--code: want 1 to 255")
	}
	return after, code, nil
}
