// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"fmt"
	"strings"
)

// ldflags strips the programs and stamps Kubernetes' own version into its programs, which report it to clients.
func ldflags(module, version string) string {
	flags := "-s -w"
	if module != "kubernetes" {
		return flags
	}
	numbers := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(numbers) < 2 {
		return flags
	}
	stamp := []string{"gitVersion=" + version, "gitMajor=" + numbers[0], "gitMinor=" + numbers[1], "gitTreeState=clean"}
	for _, s := range stamp {
		flags += fmt.Sprintf(" -X k8s.io/component-base/version.%s", s)
	}
	return flags
}

// buildArgs are the arguments of `go` that build the program into out.
func buildArgs(p program, version, out string) []string {
	args := []string{"build", "-mod=readonly", "-trimpath"}
	if tags := modules[p.module].tags; tags != "" {
		args = append(args, "-tags", tags)
	}
	return append(args, "-ldflags", ldflags(p.module, version), "-o", out, p.pkg)
}
