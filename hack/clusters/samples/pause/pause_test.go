// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestReapCollectsEndedChildren(t *testing.T) {
	child, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if !isZombie(t, child.Pid) {
		t.Fatal("the child did not become a zombie")
	}
	reap()
	if _, err := syscall.Wait4(child.Pid, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("the child is still to be waited for: %v", err)
	}
}

// isZombie waits until the process has ended without being waited for.
func isZombie(t *testing.T, pid int) bool {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(stat, []byte(") Z ")) {
			return true
		}
	}
	return false
}
