// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import "github.com/prometheus/client_golang/prometheus"

var (
	patches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_containermeta_patches_total",
		Help: "Reports sent to the API server, by result: written, gone (the pod was), failed.",
	}, []string{"result"})
	envReads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_containermeta_env_reads_total",
		Help: "Executions of the command env in a container, by result: read, failed.",
	}, []string{"result"})
	restarts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_nodeagent_containermeta_restarts_total",
		Help: "Containers told to end for changed metadata, by outcome: Stopped, NotRunning (it had ended), Undone.",
	}, []string{"outcome"})
)

// Collectors are the metrics of this package, to be registered once.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{patches, envReads, restarts}
}
