// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-sh/flotilla/hub/share"
)

var (
	decisionSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "flotilla_hub_decision_seconds",
		Help:    "Seconds to decide a placement, from the snapshot to the slices wanted, by divider.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
	}, []string{"divider"})
	moves = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_hub_moved_replicas_total",
		Help: "Replicas by which shares changed, by reason (Bound, Grow, Shrink, Displaced).",
	}, []string{"reason"})
	staleClusters = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flotilla_hub_stale_clusters",
		Help: "Clusters whose agent has not renewed its lease of late.",
	})
	statusWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flotilla_hub_status_writes_total",
		Help: "Requests that wrote the status of a placement or a target.",
	})
)

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{decisionSeconds, moves, staleClusters, statusWrites}
}

func countMoves(plan *share.Plan) {
	if plan == nil {
		return
	}
	for _, m := range plan.Moves {
		moved := m.To - m.From
		moves.WithLabelValues(string(m.Reason)).Add(float64(max(moved, -moved)))
	}
}
