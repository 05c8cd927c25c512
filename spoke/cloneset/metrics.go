// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// leakage counts how often a set's pass had to ask the API server because the cache did not show its
// last writes. The name is what dashboards of the field know it by.
var leakage = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "cloneset_scale_expectation_leakage",
	Help: "Passes over a CloneSet for which the cache lagged behind its own writes for too long.",
}, []string{"namespace", "name"})

// registerMetrics adds the metrics to the manager's registry; a second controller in one process
// shares them.
func registerMetrics() error {
	err := metrics.Registry.Register(leakage)
	var again prometheus.AlreadyRegisteredError
	if errors.As(err, &again) {
		return nil
	}
	return err
}

func lagged(owner client.Object) {
	leakage.WithLabelValues(owner.GetNamespace(), owner.GetName()).Inc()
}
