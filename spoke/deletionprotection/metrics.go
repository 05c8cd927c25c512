// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-sh/flotilla/internal/boundedlabel"
)

// mostSeries is how many pairs of an object and a user a metric tells apart.
const mostSeries = 1000

// refusals is a counter of refused deletions by object and user.
type refusals struct {
	*prometheus.CounterVec
	series *boundedlabel.Series
}

var (
	namespaces  = refusalsOf("namespace_deletion_protection", "name", "Refused deletions of namespaces.")
	definitions = refusalsOf("crd_deletion_protection", "name", "Refused deletions of CustomResourceDefinitions.")
	workloads   = refusalsOf("workload_deletion_protection", "kind_namespace_name", "Refused deletions of workloads; objects are called <Kind>_<namespace>_<name>.")
)

func refusalsOf(name, object, help string) *refusals {
	return &refusals{
		CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name, Help: help + ` The first 200 service accounts and 100 other users have their names, and objects in the first 1000 series; later ones are "other".`,
		}, []string{object, "username"}),
		series: boundedlabel.MostSeries(mostSeries),
	}
}

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{namespaces, definitions, workloads}
}

// count counts a refusal for a user, of an object by its name in the metric.
func (r *refusals) count(object, user string) {
	object, user = r.series.Of(object, user)
	r.WithLabelValues(object, user).Inc()
}

// refusalsFor are the metric of what has such a cascade, and how objects are called there; services and ingresses
// have none.
func refusalsFor(on cascade, kind, namespace, name string) (*refusals, string) {
	switch on {
	case content:
		return namespaces, name
	case instances:
		return definitions, name
	case replicas:
		return workloads, kind + "_" + namespace + "_" + name
	default:
		return nil, ""
	}
}
