// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-sh/flotilla/internal/boundedlabel"
)

// mostSeries is how many pairs of a workload and a user the metric tells apart.
const mostSeries = 1000

// tally counts refusals by workload and user. Both are bounded.
type tally struct {
	counter *prometheus.CounterVec
	series  *boundedlabel.Series
}

// newTally registers the counter; a second one in the process shares the first one's.
func newTally() (*tally, error) {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pod_unavailable_budget", Help: "Disruptions of pods that a PodUnavailableBudget refused because it was spent.",
	}, []string{"kind_namespace_name", "username"})
	err := metrics.Registry.Register(counter)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if have, ok := there.ExistingCollector.(*prometheus.CounterVec); ok {
			counter, err = have, nil
		}
	}
	return &tally{counter: counter, series: boundedlabel.MostSeries(mostSeries)}, err
}

func (t *tally) refused(kind, namespace, name, user string) {
	t.counter.WithLabelValues(t.series.Of(fmt.Sprintf("%s_%s_%s", kind, cmp.Or(namespace, "default"), name), user)).Inc()
}
