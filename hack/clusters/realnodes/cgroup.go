// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where the machine has its cgroup hierarchies.
const cgroupRoot = "/sys/fs/cgroup"

// The types of file systems that hierarchies are.
const (
	cgroupV1 = "cgroup"
	cgroupV2 = "cgroup2"
)

// killWait bounds the wait for the processes of a cgroup to be gone.
const killWait = 10 * time.Second

// hierarchies are the mount points of cgroup v1's hierarchies and of one of v2 beside them, or the one of v2 alone.
func hierarchies() (mounts []mount, err error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []mount{{path: cgroupRoot, fsType: cgroupV2}}, nil
	}
	list, err := mountsUnder(cgroupRoot)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.fsType == cgroupV1 || m.fsType == cgroupV2 {
			mounts = append(mounts, m)
		}
	}
	if len(mounts) == 0 {
		return nil, fmt.Errorf("no cgroup hierarchy is mounted under %s", cgroupRoot)
	}
	return mounts, nil
}

// ensureCgroup makes the node's cgroup in every hierarchy, ready for children.
func (n node) ensureCgroup() error {
	mounts, err := hierarchies()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		group := filepath.Join(m.path, n.cgroup())
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
		if m.fsType == cgroupV2 {
			err = delegate(m.path, group)
		} else {
			err = inherit(m.path, group, "cpuset.cpus", "cpuset.mems")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inherit fills the group's empty files from its parent's; a hierarchy without them needs nothing.
func inherit(parent, group string, files ...string) error {
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(group, f))
		if errors.Is(err, fs.ErrNotExist) || (err == nil && strings.TrimSpace(string(have)) != "") {
			continue
		}
		if err != nil {
			return err
		}
		value, err := os.ReadFile(filepath.Join(parent, f))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(group, f), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// delegate turns on all controllers of cgroup v2 for the children of the groups.
func delegate(groups ...string) error {
	for _, g := range groups {
		raw, err := os.ReadFile(filepath.Join(g, "cgroup.controllers"))
		if err != nil {
			return err
		}
		for c := range strings.FieldsSeq(string(raw)) {
			// Some controllers cannot be turned on everywhere; kubelet says which of them it misses.
			_ = os.WriteFile(filepath.Join(g, "cgroup.subtree_control"), []byte("+"+c), 0o644)
		}
	}
	return nil
}

// removeCgroup kills what still runs in the node's cgroup and removes it.
func (n node) removeCgroup() error {
	mounts, err := hierarchies()
	if err != nil {
		return err
	}
	var groups []string
	for _, m := range mounts {
		groups = append(groups, subgroups(filepath.Join(m.path, n.cgroup()))...)
	}
	for deadline := time.Now().Add(killWait); ; time.Sleep(20 * time.Millisecond) {
		groups = slices.DeleteFunc(groups, func(g string) bool {
			err := unix.Rmdir(g)
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
		if len(groups) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cgroup %s does not go away", groups[0])
		}
		killAll(groups)
	}
}

// subgroups are the group and all below it, deepest first.
func subgroups(group string) []string {
	var list []string
	_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			list = append(list, path)
		}
		return nil
	})
	slices.Reverse(list)
	return list
}

// killAll kills the processes of the groups.
func killAll(groups []string) {
	for _, g := range groups {
		raw, err := os.ReadFile(filepath.Join(g, "cgroup.procs"))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(raw)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}
