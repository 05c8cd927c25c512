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

// show prints the table. A ratio is to the bare client's time for the same work.
func show(o options, rows []row) {
	fmt.Printf("\n%d simulated nodes, %s unavailable at most\n\n", o.nodes, atOnce)
	floor := map[string]float64{}
	for _, r := range rows {
		if r.By == bareGated {
			floor[r.Work] = r.Seconds
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "work\tby\tpods\tseconds\tx bare\twrites\tpod writes a pod\tCPU s\thighest MiB\tAPI server CPU s\tKiB a pod\t")
	for _, r := range rows {
		ratio := "-"
		if floor[r.Work] > 0 {
			ratio = fmt.Sprintf("%.2f", r.Seconds/floor[r.Work])
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%s\t%d\t%.2f\t%.1f\t%.0f\t%.1f\t%.1f\t\n", r.Work, r.By, r.Pods, r.Seconds, ratio, r.Writes, r.PodWrites, r.CPUSeconds, r.HighestRSS, r.ServerCPU, r.Grown)
	}
	_ = w.Flush() // to a terminal
}

// write saves the figures.
func write(o options, rows []row) error {
	data, err := json.MarshalIndent(map[string]any{"nodes": o.nodes, "rows": rows}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(o.out, append(data, '\n'), 0o644)
}
