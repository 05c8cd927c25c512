// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package fakenodes_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const repository = "../../.."

// set is one set of local clusters, handled by the command line as users do.
type set struct{ name, program string }

// run runs a command of the tool and returns what it printed.
func (s set) run(args ...string) string {
	GinkgoHelper()
	var out bytes.Buffer
	cmd := exec.Command(s.program, append(args, "--name", s.name)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository, &out, &out
	Expect(cmd.Run()).To(Succeed(), "%v\n%s", args, &out)
	return out.String()
}

func (s set) path(elements ...string) string {
	path, err := filepath.Abs(filepath.Join(append([]string{repository, ".clusters", s.name}, elements...)...))
	Expect(err).NotTo(HaveOccurred())
	return path
}

// kill kills the named process of the set without warning.
func (s set) kill(name string) {
	GinkgoHelper()
	raw, err := os.ReadFile(s.path("pids"))
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(raw)) {
		var pid int
		var process string
		_, err := fmt.Sscan(line, &pid, &process)
		Expect(err).NotTo(HaveOccurred())
		if process == name {
			p, err := os.FindProcess(pid)
			Expect(err).NotTo(HaveOccurred())
			Expect(p.Kill()).To(Succeed())
			return
		}
	}
	Fail("no process " + name + " in\n" + string(raw))
}

// processes are the command lines of processes that name the set's folder.
func (s set) processes() []string {
	GinkgoHelper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(s.path()+"/")) {
			found = append(found, string(line))
		}
	}
	return found
}
