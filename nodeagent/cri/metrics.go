// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import "github.com/prometheus/client_golang/prometheus"

var (
	runtimeUp = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flotilla_nodeagent_runtime_up",
		Help: "1 while the container runtime answers, else 0.",
	})
	runtimeInfo = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flotilla_nodeagent_runtime_info",
		Help: "The container runtime in use, 1 while it answers.",
	}, []string{"name", "version", "endpoint"})
	connects = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_runtime_connects_total",
		Help: "How often a connection to the container runtime was made.",
	})
	callErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_cri_call_errors_total",
		Help: "Calls to the container runtime that failed, by method and gRPC code.",
	}, []string{"method", "code"})
)

// Collectors are the metrics of this package, to be registered once.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{runtimeUp, runtimeInfo, connects, callErrors}
}
