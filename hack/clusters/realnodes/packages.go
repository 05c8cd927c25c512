// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
)

// systemPath is where the machine's own programs are looked for, the user's PATH notwithstanding.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// packages are the Debian packages that are needed, with the program each is wanted for.
var packages = []struct{ program, pkg string }{{"runc", "runc"}, {"iptables", "iptables"}}

// ensurePackages installs what is missing with apt-get and says so.
func ensurePackages(ctx context.Context, report *progress.Reporter) error {
	var missing []string
	for _, p := range packages {
		if _, err := systemProgram(p.program); err != nil {
			missing = append(missing, p.pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, " ")
	if _, err := systemProgram("apt-get"); err != nil {
		return fmt.Errorf("real nodes need %s; install them (there is no apt-get here to do it with)", names)
	}
	report.Printf("install Debian packages that real nodes need: %s", names)
	install := append([]string{"install", "--yes", "--no-install-recommends"}, missing...)
	if err := aptGet(ctx, install...); err == nil {
		return nil
	}
	return errors.Join(aptGet(ctx, "update"), aptGet(ctx, install...))
}

// aptGet waits for up to five minutes where somebody else is installing something.
func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet=2", "--option=DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// systemProgram is the path of one of the machine's own programs.
func systemProgram(name string) (string, error) {
	for _, dir := range filepath.SplitList(systemPath) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}
