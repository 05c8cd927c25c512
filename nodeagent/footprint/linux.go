//go:build linux

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// segment is a part of the address space that shows a file.
type segment struct{ from, to uintptr }

// DropProgram lets go of the pages of the program itself that may only be read or run. What is needed again comes back from
// the file, or from the page cache, by itself. The error says that they could not be told, or not be let go of.
func DropProgram() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	segments, err := readOnly(maps, path)
	if err := errors.Join(err, maps.Close()); err != nil {
		return err
	}
	for _, s := range segments {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, s.from, s.to-s.from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

// readOnly finds in a list as of /proc/PID/maps what shows a file and cannot be written.
func readOnly(maps io.Reader, path string) ([]segment, error) {
	var out []segment
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // 00400000-019fb000 r-xp 00000000 08:01 1234 /path
		if len(fields) != 6 || fields[5] != path || strings.Contains(fields[1], "w") {
			continue
		}
		var s segment
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &s.from, &s.to); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		out = append(out, s)
	}
	return out, lines.Err()
}
