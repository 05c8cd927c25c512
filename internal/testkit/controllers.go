// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// StartControllers runs kube-controller-manager with these of its controllers, by their full names
// (statefulset-controller), as an administrator, until the test ends.
func (s *Server) StartControllers(t TB, names ...string) {
	t.Helper()
	cmd := exec.Command(Program("kube-controller-manager"),
		"--kubeconfig="+s.Kubeconfig(t), "--controllers="+strings.Join(names, ","), "--leader-elect=false", "--secure-port=0")
	log, err := os.Create(filepath.Join(t.TempDir(), "controllers.log"))
	if err != nil {
		t.Fatalf("making the controllers' log: %v", err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the controllers (run `go run ./hack/clusters assets` first): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // says that it was told to end
		_ = log.Close()
	})
}

// Kubeconfig writes a file with an administrator's access, for programs, and returns its path.
func (s *Server) Kubeconfig(t TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, s.env.KubeConfig, 0o600); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	return file
}
