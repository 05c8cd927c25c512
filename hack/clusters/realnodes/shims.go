// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
)

// killShims kills the shims of the container runtime with the socket: they outlive it by design.
func killShims(socket string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && isShim(line, socket) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
}

// isShim reports whether a command line, its arguments ended by zero bytes, is that of a shim of the runtime.
func isShim(cmdline []byte, socket string) bool {
	var args []string
	for arg := range bytes.SplitSeq(cmdline, []byte{0}) {
		args = append(args, string(arg))
	}
	if filepath.Base(args[0]) != assets.ContainerdShim {
		return false
	}
	at := slices.Index(args, "-address")
	return at >= 0 && at+1 < len(args) && args[at+1] == socket
}
