// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// PID returns the process number of a process of the set, by the name that `clusters status` shows.
func (f *Fleet) PID(process string) (int, error) {
	file, err := os.Open(filepath.Join(f.Dir(), "pids"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var names []string
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		pid, name, _ := strings.Cut(scanner.Text(), " ")
		if name == process {
			return strconv.Atoi(pid)
		}
		names = append(names, name)
	}
	return 0, fmt.Errorf("no process %q; there are %s", process, strings.Join(names, ", "))
}

// Signal sends a signal to a process of the set.
func (f *Fleet) Signal(process string, signal syscall.Signal) error {
	pid, err := f.PID(process)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// Flag returns the value of a flag with which a process of the set was started.
func (f *Fleet) Flag(process, flag string) (string, error) {
	pid, err := f.PID(process)
	if err != nil {
		return "", err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "", err
	}
	for arg := range strings.SplitSeq(string(line), "\x00") {
		if value, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("%s has no flag --%s", process, flag)
}
