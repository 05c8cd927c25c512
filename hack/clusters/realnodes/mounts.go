// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is one entry of /proc/self/mountinfo.
type mount struct{ path, fsType string }

// mountsUnder are the mounts below dir, in the order they were made.
func mountsUnder(dir string) ([]mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []mount
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m, err := parseMount(lines.Text())
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(m.path, dir+"/") {
			list = append(list, m)
		}
	}
	return list, nil
}

// parseMount reads a line: "36 35 98:0 /root /mount/point options [optional fields] - type source options".
func parseMount(line string) (mount, error) {
	before, after, ok := strings.Cut(line, " - ")
	fields, rest := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 5 || len(rest) < 1 {
		return mount{}, fmt.Errorf("not a line of mountinfo: %q", line)
	}
	return mount{path: unescape(fields[4]), fsType: rest[0]}, nil
}

// unescape reads the octal escapes of blanks and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if code, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unmountUnder unmounts everything below dir, latest first. It is an error if something stays mounted.
func unmountUnder(dir string) error {
	list, err := mountsUnder(dir)
	if err != nil {
		return err
	}
	slices.Reverse(list)
	var errs []error
	for _, m := range list {
		if err := unix.Unmount(m.path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.path, err))
		}
	}
	left, err := mountsUnder(dir)
	if err == nil && len(left) == 0 {
		return nil
	}
	return errors.Join(append(errs, err, fmt.Errorf("%d mounts are left under %s", len(left), dir))...)
}
