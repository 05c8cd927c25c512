// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

type stdout = io.Writer

// tools are what the program does under other names.
var tools = map[string]func(args []string, out stdout) error{
	"sleep": sleep,
	"cat":   cat,
	"env":   func(_ []string, out stdout) error { return lines(out, os.Environ()) },
	"echo":  func(args []string, out stdout) error { return lines(out, []string{strings.Join(args, " ")}) },
	"dial":  dial,
	"touch": touch,
	"rm":    rm,
	"true":  func([]string, stdout) error { return nil },
	"false": func([]string, stdout) error { return errors.New("false") },
}

func sleep(args []string, _ stdout) error {
	if len(args) != 1 {
		return errors.New("want one argument: seconds, a duration or infinity")
	}
	d, err := parseLength(args[0])
	if err != nil {
		return err
	}
	doze(d)
	return nil
}

// parseLength reads seconds ("1.5"), a duration ("90s"), or "infinity" and "" which give a negative duration.
func parseLength(s string) (time.Duration, error) {
	if s == "" || s == "infinity" || s == "inf" {
		return -1, nil
	}
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds >= 0 {
		return time.Duration(seconds * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no length of time", s)
	}
	return d, nil
}

func cat(paths []string, out stdout) error {
	var errs []error
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err == nil {
			_, err = out.Write(raw)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func touch(paths []string, _ stdout) error {
	var errs []error
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			err = f.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func rm(paths []string, _ stdout) error {
	var errs []error
	for _, path := range paths {
		if path != "-f" {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// dial fails unless somebody accepts a TCP connection at the address (host:port) within three seconds.
func dial(args []string, _ stdout) error {
	if len(args) != 1 {
		return errors.New("want one argument: host:port")
	}
	conn, err := net.DialTimeout("tcp", args[0], 3*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

func lines(out stdout, text []string) error {
	_, err := fmt.Fprintln(out, strings.Join(text, "\n"))
	return err
}
