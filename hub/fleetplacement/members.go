// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
)

// member is what is known of one cluster's share after this pass.
type member struct {
	cluster string
	state   fleetv1alpha1.ClusterState
	message string
	// stale tells that its counters are old.
	stale bool
	// observed and finished tell that it observed its newest share, and that its pods are as it says.
	observed, finished bool
	desired            int32
	counters           map[string]fleetv1alpha1.SubsetCounters
	// spread is what its WorkloadSpread says.
	spread []fleetv1alpha1.SpreadCounters
}

// total sums the counters over the subsets.
func (m member) total() fleetv1alpha1.SubsetCounters {
	return share.Report{Counters: m.counters}.Total()
}

// membersOf reads every cluster that has a slice or should have one, by name.
func membersOf(s *snapshot, d decision, out outcome, threshold time.Duration) []member {
	slicesNow := maps.Clone(s.slices)
	if slicesNow == nil {
		slicesNow = map[string]*fleetv1alpha1.FleetSlice{}
	}
	maps.Copy(slicesNow, out.written)
	planned := d.planned()
	names := slices.Collect(maps.Keys(planned))
	names = slices.AppendSeq(names, maps.Keys(slicesNow))
	slices.Sort(names)
	members := make([]member, 0, len(names))
	for _, cluster := range slices.Compact(names) {
		one := slicesNow[cluster]
		m := memberOf(cluster, one, out.failed[cluster], one != nil && slices.Contains(d.remove, one))
		m.markStale(s, threshold)
		switch plan, ok := planned[cluster]; {
		case ok:
			m.compare(plan)
		case d.plan == nil && m.state != fleetv1alpha1.ClusterDeleting:
			m.desired = share.Slice{Held: slice.Held(one)}.Replicas() // it keeps what it has
		}
		members = append(members, m)
	}
	return members
}

// planned are the plan's slices by cluster.
func (d decision) planned() map[string]share.Slice {
	out := map[string]share.Slice{}
	if d.plan != nil {
		for _, one := range d.plan.Slices {
			out[one.Cluster] = one
		}
	}
	return out
}

// memberOf reads one slice. failure is why it could not be written; removed tells that it goes.
func memberOf(cluster string, one *fleetv1alpha1.FleetSlice, failure error, removed bool) member {
	m := member{cluster: cluster, state: fleetv1alpha1.ClusterPending, message: "its share is not written yet"}
	if one != nil {
		reading := slice.Read(one)
		m.state, m.message, m.observed = reading.State, reading.Message, reading.Observed
		m.counters, m.spread = reading.Counters, reading.Spread
	}
	switch {
	case removed && m.state != fleetv1alpha1.ClusterDeleting:
		m.state, m.message, m.observed = fleetv1alpha1.ClusterDeleting, "its share is being taken back", false
	case errors.Is(failure, slice.ErrDeleting):
		m.observed = false
	case failure != nil:
		m.state, m.message, m.observed = fleetv1alpha1.ClusterFailed, failure.Error(), false
	}
	return m
}

// markStale lets old counters show: the state of a cluster that does not report is not known.
func (m *member) markStale(s *snapshot, threshold time.Duration) {
	cluster, known := s.clusters[m.cluster]
	renewed, reports := s.renewed[m.cluster]
	why := staleness(cluster, known, renewed, reports, s.now.Add(-threshold))
	if why == "" && s.settling[m.cluster] {
		why = "its agent was out of touch and is back; its report is awaited"
	}
	if why == "" {
		return
	}
	m.stale = true
	if m.state == fleetv1alpha1.ClusterDeleting {
		m.message = fmt.Sprintf("%s; %s", m.message, why)
		return
	}
	m.state, m.message = fleetv1alpha1.ClusterStale, why
}

// staleness says why a cluster's counters are old; "" when they are not. Leases renewed before oldest are
// too old.
func staleness(c placement.Cluster, known bool, renewed time.Time, reports bool, oldest time.Time) string {
	switch {
	case !known:
		return "its ManagedCluster does not exist"
	case !c.Available:
		return "its ManagedCluster is not available"
	case !reports:
		return "its agent has not reported yet"
	case renewed.Before(oldest):
		return "its agent has not renewed its lease since " + renewed.UTC().Format(time.RFC3339)
	default:
		return ""
	}
}

// compare holds the counters against the plan.
func (m *member) compare(plan share.Slice) {
	m.desired = plan.Replicas()
	if plan.Split == nil {
		m.finished = m.observed
		return
	}
	var partition int32
	for _, p := range plan.Partitions {
		partition += p.Partition
	}
	total := m.total()
	m.finished = m.observed && total.Replicas == m.desired && total.ReadyReplicas >= m.desired && total.UpdatedReadyReplicas >= m.desired-partition
}
