// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// LogsRequest says which logs to show.
type LogsRequest struct {
	// Process is the name of one process; empty for all, each line prefixed with the name.
	Process string
	// Lines is how many last lines of each log to show first.
	Lines int
	// Follow goes on showing what is added until the context ends.
	Follow bool
}

// Logs writes logs of the set's processes, running or not.
func Logs(ctx context.Context, root, name string, req LogsRequest, out io.Writer) error {
	c, err := state.Load(root, name)
	if err != nil {
		return err
	}
	paths, err := logFiles(c, req.Process)
	if err != nil {
		return err
	}
	offsets := make([]int64, len(paths))
	for i, p := range paths {
		if offsets[i], err = lastLines(p, req.Lines, prefix(p, len(paths)), out); err != nil {
			return err
		}
	}
	for req.Follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(300 * time.Millisecond):
		}
		for i, p := range paths {
			if offsets[i], err = copyFrom(p, offsets[i], prefix(p, len(paths)), out); err != nil {
				return err
			}
		}
	}
	return nil
}

// logFiles are the logs to show; an unknown process is an error that names those there are.
func logFiles(c *state.Cluster, process string) ([]string, error) {
	paths, err := filepath.Glob(c.Path("logs", "*.log"))
	if err != nil || process == "" {
		return paths, err
	}
	want := c.Path("logs", process+".log")
	if slices.Contains(paths, want) {
		return []string{want}, nil
	}
	return nil, fmt.Errorf("no process %q; there are: %s", process, strings.Join(baseNames(paths), ", "))
}

func baseNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(p), ".log")
	}
	return names
}

func prefix(path string, files int) string {
	if files == 1 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(path), ".log") + " | "
}

// lastLines writes the last n lines and returns where the file ended.
func lastLines(path string, n int, prefix string, out io.Writer) (int64, error) {
	raw, err := os.ReadFile(path)
	if err != nil || len(raw) == 0 {
		return 0, err
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-n):] {
		if _, err := fmt.Fprintf(out, "%s%s\n", prefix, line); err != nil {
			return 0, err
		}
	}
	return int64(len(raw)), nil
}

// copyFrom writes the whole lines after the offset and returns the offset behind them.
func copyFrom(path string, offset int64, prefix string, out io.Writer) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return offset, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < offset {
		offset = 0
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return offset, err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return offset, nil
		}
		if err != nil {
			return offset, err
		}
		offset += int64(len(line))
		if _, err := io.WriteString(out, prefix+line); err != nil {
			return offset, err
		}
	}
}
