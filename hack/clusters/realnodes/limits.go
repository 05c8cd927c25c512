// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
)

// limits are the machine's limits that several kubelets and API servers on one host run into, with what
// they need.
var limits = map[string]int{
	"fs/inotify/max_user_instances": 2048,
	"fs/inotify/max_user_watches":   524288,
}

// raiseLimits raises the limits below /proc/sys that are lower than needed, and says so.
func raiseLimits(procSys string, report *progress.Reporter) error {
	for name, need := range limits {
		path := filepath.Join(procSys, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		have, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if have >= need {
			continue
		}
		report.Printf("raise %s from %d to %d: several kubelets on one machine need it", strings.ReplaceAll(name, "/", "."), have, need)
		if err := os.WriteFile(path, []byte(strconv.Itoa(need)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
