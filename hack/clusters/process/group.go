// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// markName is the environment entry that every process of a set carries; its value is the set's folder.
const markName = "FLOTILLA_CLUSTERS_DIR"

// Group is the processes of one set of clusters. It is safe for concurrent use. Only one tool at a time may change a
// set; the caller holds the set's lock.
type Group struct {
	dir string

	mu      sync.Mutex
	started []string // by this Group, in order
}

// Status is what is known of one process.
type Status struct {
	// Name, Role and PID as started.
	Name string
	Role Role
	PID  int
	// Running is false when the process died.
	Running bool
	// Command is the program and its arguments.
	Command []string
}

// Open returns the processes of the set whose folder is dir (an absolute path).
func Open(dir string) *Group { return &Group{dir: dir} }

// LogPath is the file with the output of the process.
func (g *Group) LogPath(name string) string { return filepath.Join(g.dir, "logs", name+".log") }

// List returns all processes that were started and not stopped, in the order of stopping.
func (g *Group) List() ([]Status, error) {
	records, err := g.records()
	if err != nil {
		return nil, err
	}
	list := make([]Status, 0, len(records))
	for _, r := range records {
		list = append(list, Status{Name: r.Name, Role: r.Role, PID: r.PID, Running: r.runs(), Command: append([]string{r.Path}, r.Args...)})
	}
	return list, nil
}

// Started are the names of the processes this Group started, in order.
func (g *Group) Started() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.started)
}

func (g *Group) mark() string { return markName + "=" + g.dir }

func (g *Group) recordPath(name string) string {
	return filepath.Join(g.dir, "processes", name+".json")
}

// records reads all records, sorted by role, then name.
func (g *Group) records() ([]record, error) {
	paths, err := filepath.Glob(filepath.Join(g.dir, "processes", "*.json"))
	if err != nil {
		return nil, err
	}
	records := make([]record, 0, len(paths))
	for _, p := range paths {
		r, err := readRecord(p)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b record) int { return cmp.Or(a.compareRole(b), cmp.Compare(a.Name, b.Name)) })
	return records, nil
}

func (r record) compareRole(o record) int { return cmp.Compare(r.Role, o.Role) }

// readRecord returns an empty record where there is none.
func readRecord(path string) (record, error) {
	var r record
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

func (g *Group) writeRecord(r record) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := state.WriteFile(g.recordPath(r.Name), append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return g.writePIDs()
}

// forget removes the records of stopped processes.
func (g *Group) forget(records []record) error {
	errs := make([]error, 0, len(records)+1)
	for _, r := range records {
		err := os.Remove(g.recordPath(r.Name))
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, g.writePIDs())...)
}

// writePIDs writes the file `pids`: PID and name of each process, a line each.
func (g *Group) writePIDs() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	records, err := g.records()
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, r := range records {
		fmt.Fprintf(&lines, "%d %s\n", r.PID, r.Name)
	}
	return state.WriteFile(filepath.Join(g.dir, "pids"), lines.Bytes(), 0o644)
}

// tail returns the last n lines of what was written to the log from the offset on.
func tail(path string, offset int64, n int) []string {
	raw, err := os.ReadFile(path)
	if err != nil || int64(len(raw)) <= offset {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(raw[offset:]), "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}
