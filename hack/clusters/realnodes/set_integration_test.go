// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package realnodes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

const repository = "../../.."

// set is one set of local clusters, handled by the command line as users do.
type set struct{ name, program string }

func (s set) run(args ...string) {
	GinkgoHelper()
	cmd := exec.Command(s.program, append(args, "--name", s.name)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository, GinkgoWriter, GinkgoWriter
	Expect(cmd.Run()).To(Succeed(), strings.Join(args, " "))
}

func (s set) path(elements ...string) string {
	path, err := filepath.Abs(filepath.Join(append([]string{repository, ".clusters", s.name}, elements...)...))
	Expect(err).NotTo(HaveOccurred())
	return path
}

// containers are the ids of all containers of the pod, running or not, that the node's runtime knows, by name and attempt.
func (s set) containers(pod *corev1.Pod) map[string]string {
	GinkgoHelper()
	socket := "unix://" + s.path("nodes", "cri", pod.Spec.NodeName, "containerd.sock")
	out, err := exec.Command(s.path("nodes", "crictl"), "-r", socket, "-i", socket, "ps", "--all", "--output", "json",
		"--label", "io.kubernetes.pod.uid="+string(pod.UID)).Output()
	Expect(err).NotTo(HaveOccurred())
	var list struct {
		Containers []struct {
			ID       string
			State    string
			Metadata struct {
				Name    string
				Attempt int
			}
		}
	}
	Expect(json.Unmarshal(out, &list)).To(Succeed())
	ids := map[string]string{}
	for _, c := range list.Containers {
		ids[fmt.Sprintf("%s/%d/%s", c.Metadata.Name, c.Metadata.Attempt, c.State)] = c.ID
	}
	return ids
}

// kill kills the named processes of the set without warning; all of them where a name is empty.
func (s set) kill(names ...string) {
	GinkgoHelper()
	raw, err := os.ReadFile(s.path("pids"))
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(raw)) {
		var pid int
		var process string
		_, err := fmt.Sscan(line, &pid, &process)
		Expect(err).NotTo(HaveOccurred())
		for _, name := range names {
			if name == "" || name == process {
				p, err := os.FindProcess(pid)
				Expect(err).NotTo(HaveOccurred())
				Expect(p.Kill()).To(Succeed())
			}
		}
	}
}

// leftovers are traces of the set on the machine: mounts, interfaces, cgroups, routing and firewall rules, and
// processes whose command line names it.
func leftovers(name string) []string {
	GinkgoHelper()
	var found []string
	whole := regexp.MustCompile(regexp.QuoteMeta(name) + `\b`)
	note := func(what, text string) {
		for line := range strings.Lines(text) {
			if whole.MatchString(line) {
				found = append(found, what+": "+strings.TrimSpace(line))
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	Expect(err).NotTo(HaveOccurred())
	note("mount", string(mounts))
	for _, pattern := range []string{
		"/sys/class/net/*", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/var/lib/flotilla/*", "/var/lib/cni/results/*",
	} {
		paths, err := filepath.Glob(pattern)
		Expect(err).NotTo(HaveOccurred())
		note("file", strings.Join(paths, "\n"))
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range processes {
		if line, err := os.ReadFile(path); err == nil {
			note("process", string(line))
		}
	}
	for _, table := range []string{"filter", "nat"} {
		rules, err := exec.Command("iptables", "--wait", "--list-rules", "--table", table).Output()
		Expect(err).NotTo(HaveOccurred())
		note("rule", string(rules))
	}
	return found
}
