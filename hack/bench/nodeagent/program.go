// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks of a second in which Linux counts the CPU time of processes.
const ticks = 100

// program is a process that is looked at from a moment on.
type program struct {
	pid int
	cpu float64
}

// watchProgram begins to look at a process.
func watchProgram(pid int) (*program, error) {
	p := &program{pid: pid}
	// 5 makes the highest memory so far that of now.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		return nil, err
	}
	p.cpu = p.cpuSeconds()
	return p, nil
}

// since returns the CPU seconds used since then, and the highest memory in MiB.
func (p *program) since() (cpu, highest float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 64)
			highest = n / 1024
		}
	}
	return p.cpuSeconds() - p.cpu, highest
}

func (p *program) cpuSeconds() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0
	}
	// The name, in brackets, may have spaces; user and system time are fields 14 and 15 of the line.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}
