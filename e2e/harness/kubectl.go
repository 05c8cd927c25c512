// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// Kubectl runs kubectl as the cluster's administrator, with stdin, and returns what it prints. What it says besides
// is in the error.
func (c *Cluster) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, testkit.Program("kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return out.String(), nil
}
