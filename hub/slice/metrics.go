// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package slice

import "github.com/prometheus/client_golang/prometheus"

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "flotilla_hub_slice_writes_total",
	Help: "Requests that wrote a FleetSlice, by what they did (apply, patch, delete, release) and result (ok, error).",
}, []string{"operation", "result"})

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector { return []prometheus.Collector{writes} }

func count(operation string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	writes.WithLabelValues(operation, result).Inc()
}
