// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"os/exec"
	"strings"
)

// forwardRule lets the set's pods talk to each other where the machine's firewall passes nothing on by default.
func (p place) forwardRule() []string {
	pods := p.realAddresses().String()
	return []string{"FORWARD", "--source", pods, "--destination", pods, "--match", "comment", "--comment", p.link(), "--jump", "ACCEPT"}
}

func (p place) ensureForwardRule() error {
	if _, err := iptables("--check", p.forwardRule()...); err == nil {
		return nil
	}
	_, err := iptables("--insert", p.forwardRule()...)
	return err
}

// removeForwardRule removes the rule if it is there.
func (p place) removeForwardRule() error {
	if _, err := systemProgram("iptables"); err != nil {
		return nil //nolint:nilerr // without iptables there is no rule
	}
	for {
		if _, err := iptables("--check", p.forwardRule()...); err != nil {
			return nil //nolint:nilerr // there is no such rule any more
		}
		if _, err := iptables("--delete", p.forwardRule()...); err != nil {
			return err
		}
	}
}

// iptables runs the command and returns its output.
func iptables(command string, args ...string) (string, error) {
	path, err := systemProgram("iptables")
	if err != nil {
		return "", err
	}
	args = append([]string{"--wait", command}, args...)
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
