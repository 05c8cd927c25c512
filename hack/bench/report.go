// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// show prints the table.
func show(o options, rows []row) {
	fmt.Printf("\n1 hub, %d members, 1 UnitedDeployment of %d replicas\n\n", o.members, o.replicas)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "change\tslices changed\ts to last slice\ts to settled status\treconcile s\thub CPU s\tslice writes\tother writes\tRSS MiB\thighest MiB\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t%d\t%.0f\t%.0f\t\n",
			r.Change, r.Slices, r.SecondsToSlices, r.SecondsToSettled, r.ReconcileSeconds, r.CPUSeconds, r.SliceWrites, r.OtherWrites, r.RSS, r.HighestRSS)
	}
	_ = w.Flush() // to a terminal
	fmt.Println("\nMembers report every slice at once, so settled includes one report of each and the hub's coalesced status.")
}

// write saves the figures.
func write(o options, rows []row) error {
	data, err := json.MarshalIndent(map[string]any{"members": o.members, "replicas": o.replicas, "rows": rows}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(o.out, append(data, '\n'), 0o644)
}
