//go:build linux

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadOnly(t *testing.T) {
	got, err := readOnly(strings.NewReader(`00400000-019fb000 r-xp 00000000 08:01 1234                               /kruise-daemon
019fb000-03280000 r--p 015fb000 08:01 1234                               /kruise-daemon
03280000-03324000 rw-p 02e80000 08:01 1234                               /kruise-daemon
03324000-05371000 rw-p 00000000 00:00 0
c000000000-c000400000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00000000 08:01 99                         /lib/x.so
7ffd1000-7ffd3000 r-xp 00000000 00:00 0                                  [vdso]
`), "/kruise-daemon")
	want := []segment{{0x400000, 0x19fb000}, {0x19fb000, 0x3280000}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(segment{})); d != "" || err != nil {
		t.Error(d, err)
	}
}

// What was let go of is not resident, and comes back: the test goes on in the program that it dropped.
func TestDropProgram(t *testing.T) {
	before := resident(t)
	if err := DropProgram(); err != nil {
		t.Fatal(err)
	}
	after := resident(t)
	if after >= before {
		t.Errorf("%d pages of files are resident, %d were before", after, before)
	}
}

// resident is how many pages of files are in this process's memory.
func resident(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, c := range strings.Fields(string(raw))[2] {
		pages = pages*10 + int(c-'0')
	}
	return pages
}
