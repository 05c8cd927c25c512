// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import "github.com/prometheus/client_golang/prometheus"

var (
	probesTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_probes_total",
		Help: "Probes that were run, by handler and result; unclear ones count for nothing.",
	}, []string{"handler", "result"})
	workersGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flotilla_nodeagent_probe_workers",
		Help: "Probes that are looked after.",
	})
	refusedGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flotilla_nodeagent_probes_refused",
		Help: "Probes of the NodePodProbe that are not run, by reason.",
	}, []string{"reason"})
	patches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_probe_status_patches_total",
		Help: "Writes of the NodePodProbe's status, by result: written, gone or failed.",
	}, []string{"result"})
)

// Collectors are the metrics of this package, to be registered once.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{probesTotal, workersGauge, refusedGauge, patches}
}

// String is the sight as metrics name it.
func (s sight) String() string {
	switch s {
	case absent:
		return "absent"
	case stopped:
		return "stopped"
	case early:
		return "early"
	case unclear:
		return "unclear"
	case succeeded:
		return "succeeded"
	case failed:
		return "failed"
	default:
		return "unknown"
	}
}
