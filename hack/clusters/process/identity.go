// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// proc is where the kernel shows its processes.
const proc = "/proc"

// identity tells a process from a later one with the same pid: the boot and the tick it began at. It is empty, without
// error, where no such process runs. A zombie does not run, unless other threads than its first one still do: those hold
// its ports.
func identity(pid int) (string, error) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if gone(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	state, start, err := parseStat(stat)
	if err != nil || (state == "Z" && threads(pid) <= 1) || state == "X" {
		return "", err
	}
	boot, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + start, nil
}

// threads counts the threads of the process.
func threads(pid int) int {
	entries, err := os.ReadDir(filepath.Join(proc, strconv.Itoa(pid), "task"))
	if err != nil {
		return 0
	}
	return len(entries)
}

// parseStat returns fields 3 (state) and 22 (start time in ticks) of /proc/PID/stat. The second field, the program's
// name in parentheses, may hold blanks and parentheses itself.
func parseStat(stat []byte) (state, start string, err error) {
	_, rest, ok := bytes.Cut(stat, []byte("("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return "", "", fmt.Errorf("not a stat line: %q", stat)
	}
	fields := strings.Fields(string(rest[end+1:]))
	if len(fields) < 20 {
		return "", "", fmt.Errorf("a stat line of only %d fields: %q", len(fields)+2, stat)
	}
	return fields[0], fields[19], nil
}

// gone reports whether the error of reading a process's folder says that the process ended.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || (err != nil && strings.Contains(err.Error(), "no such process"))
}

// runs reports whether the very process of the record runs.
func (r record) runs() bool {
	if r.PID == 0 {
		return false
	}
	id, err := identity(r.PID)
	return err == nil && id != "" && id == r.Start
}

// marked returns the pids, with identity, of all running processes whose environment holds the mark.
func marked(mark string) map[int]string {
	found := map[int]string{}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return found
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join(proc, e.Name(), "environ"))
		if err != nil || !hasMark(env, mark) {
			continue
		}
		if id, err := identity(pid); err == nil && id != "" {
			found[pid] = id
		}
	}
	return found
}

// hasMark reports whether an environment block holds the entry.
func hasMark(environ []byte, mark string) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if string(entry) == mark {
			return true
		}
	}
	return false
}
