// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// ErrDegraded says that some process of the set does not run.
var ErrDegraded = errors.New("not everything runs; `up` repairs it")

// Status writes the set's kubeconfigs, ports and processes. It returns ErrDegraded where a process died.
func Status(root, name string, out io.Writer) error {
	c, err := state.Load(root, name)
	if err != nil {
		return err
	}
	list, err := process.Open(c.Dir).List()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	o := c.Options
	fmt.Fprintf(w, "%s: %d members, %d fake and %d real nodes each, zones %v, components %s\n\n", name, o.Members, o.FakeNodes, o.RealNodes, o.Zones, o.Components)
	fmt.Fprintln(w, "CLUSTER\tKUBECONFIG")
	for _, plane := range o.Planes() {
		fmt.Fprintf(w, "%s\t%s\n", plane, c.Kubeconfig(plane))
	}
	if registry, err := os.ReadFile(c.Path("registry")); err == nil {
		fmt.Fprintf(w, "\nregistry %s\n", bytes.TrimSpace(registry))
	}
	fmt.Fprintln(w, "\n"+kubectl(c))
	fmt.Fprintln(w, "\nPORT\tOF")
	for _, key := range slices.Sorted(maps.Keys(c.Ports)) {
		fmt.Fprintf(w, "%d\t%s\n", c.Ports[key], key)
	}
	degraded := processTable(w, list, process.Open(c.Dir))
	return errors.Join(w.Flush(), degraded)
}

// kubectl says where to find a kubectl of the clusters' version.
func kubectl(c *state.Cluster) string {
	path, found, err := assets.Source{Root: c.Root, Dir: c.Options.Assets}.Find(assets.Kubectl)
	if err != nil || !found {
		return "kubectl: build it with `go run ./hack/clusters assets kubectl`"
	}
	return "kubectl: " + path
}

func processTable(w io.Writer, list []process.Status, g *process.Group) error {
	var degraded error
	fmt.Fprintln(w, "\nPROCESS\tPID\tSTATE\tLOG")
	slices.SortStableFunc(list, func(a, b process.Status) int { return int(b.Role) - int(a.Role) })
	for _, p := range list {
		is := "running"
		if !p.Running {
			is, degraded = "dead", ErrDegraded
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", p.Name, p.PID, is, g.LogPath(p.Name))
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "(none)")
		return ErrDegraded
	}
	return degraded
}

// List writes the names of all sets that have a folder.
func List(root string, out io.Writer) error {
	paths, err := filepath.Glob(filepath.Join(root, ".clusters", "*", "state.json"))
	for _, p := range paths {
		fmt.Fprintln(out, filepath.Base(filepath.Dir(p)))
	}
	return err
}
