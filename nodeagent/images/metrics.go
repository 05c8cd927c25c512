// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import "github.com/prometheus/client_golang/prometheus"

var (
	pulls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_image_pulls_total",
		Help: "Tags that were brought to an end, by result: succeeded, failed.",
	}, []string{"result"})
	statusWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_image_status_writes_total",
		Help: "Writes of the NodeImage's status, by result: written, conflict, failed.",
	}, []string{"result"})
)

// Collectors are the metrics of this package, to be registered once.
func Collectors() []prometheus.Collector { return []prometheus.Collector{pulls, statusWrites} }
