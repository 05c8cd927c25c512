// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import "github.com/prometheus/client_golang/prometheus"

var stops = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "flotilla_nodeagent_restart_stops_total",
	Help: "Containers told to end for a ContainerRecreateRequest, by outcome: Stopped, NotRunning (it had ended), Undone.",
}, []string{"outcome"})

// Collectors are the metrics of this package, to be registered once.
func Collectors() []prometheus.Collector { return []prometheus.Collector{stops} }
