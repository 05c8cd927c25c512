// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import "syscall"

// lingerShortly makes the end of a connection wait no longer than a second for its peer.
func lingerShortly(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: 1})
	})
	if err != nil {
		return err
	}
	return failed
}
