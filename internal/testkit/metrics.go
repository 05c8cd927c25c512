// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Counts is what a counter shows, by the values of its labels in the labels' order, with spaces between.
func Counts(t TB, counter prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(counter)
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("reading a metric: %v", err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var values []string
			for _, label := range m.GetLabel() {
				values = append(values, label.GetValue())
			}
			out[strings.Join(values, " ")] = m.GetCounter().GetValue()
		}
	}
	return out
}
