// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// The ways in which pods are updated, as label way says.
const (
	wayInPlace  = "InPlace"
	wayRecreate = "Recreate"
)

func describeMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, labels...), nil)
}

// gauges are read off a set's spec and status.
var gauges = []struct {
	desc *prometheus.Desc
	of   func(*appsv1beta1.CloneSet) int32
}{
	{describeMetric("flotilla_cloneset_desired_replicas", "Pods that the CloneSet asks for."), desiredReplicas},
	{describeMetric("flotilla_cloneset_ready_replicas", "Pods that are ready."), func(s *appsv1beta1.CloneSet) int32 { return s.Status.ReadyReplicas }},
	{describeMetric("flotilla_cloneset_available_replicas", "Pods that have been ready for minReadySeconds."), func(s *appsv1beta1.CloneSet) int32 { return s.Status.AvailableReplicas }},
	{describeMetric("flotilla_cloneset_updated_replicas", "Pods of the newest revision."), func(s *appsv1beta1.CloneSet) int32 { return s.Status.UpdatedReplicas }},
	{describeMetric("flotilla_cloneset_updated_ready_replicas", "Pods of the newest revision that are ready."), func(s *appsv1beta1.CloneSet) int32 { return s.Status.UpdatedReadyReplicas }},
	{describeMetric("flotilla_cloneset_expected_updated_replicas", "Pods of the newest revision that the partition allows."), func(s *appsv1beta1.CloneSet) int32 { return s.Status.ExpectedUpdatedReplicas }},
}

var (
	waitingSince     = describeMetric("flotilla_cloneset_waiting_since_timestamp_seconds", "When the CloneSet last moved forward, or began to wait for this reason, whichever was later. Only while it waits.", "reason")
	partitionReached = describeMetric("flotilla_cloneset_partition_reached_timestamp_seconds", "When as many pods were updated and available as the partition allows. Only while it keeps others at the old revision.")
	failingSince     = describeMetric("flotilla_cloneset_failing_since_timestamp_seconds", "Since when condition FailedScale or FailedUpdate is there, or the rollout's deadline is exceeded. Only while it is so.", "reason")
	podUpdates       = describeMetric("flotilla_cloneset_pod_updates_total", "Pods updated in place to the end, and pods taken out, or marked for it, to be replaced by one of another revision.", "way")
	inPlaceTimes     = describeMetric("flotilla_cloneset_in_place_update_duration_seconds", "From the start of a pod's in-place update, with its grace period, to its end.")
	// leakage has the name that dashboards of the field know.
	leakage = describeMetric("cloneset_scale_expectation_leakage", "Passes over a CloneSet for which the cache lagged behind its own writes for too long.")
)

// exported is what the registry knows: it serves the controller that acts in this process, if one does.
var exported served

type served struct{ now atomic.Pointer[serving] }

// registerMetrics adds the metrics to the manager's registry; a second controller in one process takes them over.
func registerMetrics(mgr ctrl.Manager, t *tallies) error {
	var already prometheus.AlreadyRegisteredError
	if err := metrics.Registry.Register(&exported); err != nil && !errors.As(err, &already) {
		return err
	}
	return mgr.Add(&serving{tallies: t})
}

// serving serves the metrics of one controller. One replica does: the others act on nothing, and each would tell the same.
type serving struct {
	*tallies
	// take is that of the tallies while the controller acts.
	take func() ([]appsv1beta1.CloneSet, map[types.UID]tally, error)
}

// NeedLeaderElection is true: see serving.
func (*serving) NeedLeaderElection() bool { return true }

// Start serves until the process ends.
func (s *serving) Start(ctx context.Context) error {
	exported.serve(ctx, s)
	<-ctx.Done()
	exported.now.CompareAndSwap(s, nil)
	return nil
}

// serve shows what s has from now on.
func (s *served) serve(ctx context.Context, now *serving) {
	now.take = func() ([]appsv1beta1.CloneSet, map[types.UID]tally, error) { return now.tallies.take(ctx) }
	s.now.Store(now)
}

// Describe implements prometheus.Collector.
func (*served) Describe(ch chan<- *prometheus.Desc) {
	for i := range gauges {
		ch <- gauges[i].desc
	}
	for _, d := range []*prometheus.Desc{waitingSince, partitionReached, failingSince, podUpdates, inPlaceTimes, leakage} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. All work is done here, when somebody asks: between scrapes the metrics cost
// nothing, and a set that is gone has none.
func (s *served) Collect(ch chan<- prometheus.Metric) {
	now := s.now.Load()
	if now == nil {
		return
	}
	list, counted, err := now.take()
	if err != nil {
		ctrl.Log.WithName(controllerName).Info("no metrics of CloneSets in this scrape", "error", err.Error())
		return
	}
	for i := range list {
		e := emitter{ch, list[i].Namespace, list[i].Name}
		e.state(&list[i])
		n, ok := counted[list[i].UID]
		e.value(podUpdates, prometheus.CounterValue, float64(n.inPlace), wayInPlace)
		e.value(podUpdates, prometheus.CounterValue, float64(n.recreated), wayRecreate)
		if ok {
			e.counts(&n)
		}
	}
}

// emitter sends the metrics of one set.
type emitter struct {
	ch              chan<- prometheus.Metric
	namespace, name string
}

func (e *emitter) value(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{e.namespace, e.name}, labels...)...)
}

func (e *emitter) state(set *appsv1beta1.CloneSet) {
	for i := range gauges {
		e.value(gauges[i].desc, prometheus.GaugeValue, float64(gauges[i].of(set)))
	}
	list := set.Status.Conditions
	if c := conditions.FindCompat(list, appsv1beta1.CloneSetConditionWaiting); c != nil {
		e.value(waitingSince, prometheus.GaugeValue, unix(updatedAt(c)), c.Reason)
	}
	if c := conditions.FindCompat(list, appsv1beta1.CloneSetConditionPartitionReached); c != nil {
		e.value(partitionReached, prometheus.GaugeValue, unix(c.LastTransitionTime.Time))
	}
	for _, kind := range []string{appsv1beta1.CloneSetConditionFailedScale, appsv1beta1.CloneSetConditionFailedUpdate} {
		if c := conditions.FindCompat(list, kind); c != nil && c.Status == corev1.ConditionTrue {
			e.value(failingSince, prometheus.GaugeValue, unix(c.LastTransitionTime.Time), kind)
		}
	}
	if c := conditions.FindCompat(list, appsv1beta1.CloneSetConditionProgressing); c != nil && c.Reason == appsv1beta1.CloneSetProgressDeadlineExceeded {
		e.value(failingSince, prometheus.GaugeValue, unix(updatedAt(c)), c.Reason)
	}
}

func (e *emitter) counts(n *tally) {
	if n.lagged > 0 {
		e.value(leakage, prometheus.CounterValue, float64(n.lagged))
	}
	if n.inPlace == 0 {
		return
	}
	buckets := make(map[float64]uint64, len(secondsBounds))
	for i, bound := range secondsBounds {
		buckets[bound] = n.within[i]
	}
	e.ch <- prometheus.MustNewConstHistogram(inPlaceTimes, n.inPlace, n.seconds, buckets, e.namespace, e.name)
}

func desiredReplicas(set *appsv1beta1.CloneSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// updatedAt is when the condition last became something else.
func updatedAt(c *appsv1beta1.Condition) time.Time {
	if c.LastUpdateTime != nil {
		return c.LastUpdateTime.Time
	}
	return c.LastTransitionTime.Time
}

// unix is 0 for a time that nobody wrote.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
