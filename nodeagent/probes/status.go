// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// storedStates are the states of a status, by the probes of the spec.
func storedStates(npp *v1alpha1.NodePodProbe) map[key]v1alpha1.ContainerProbeState {
	type name struct{ uid, probe string }
	found := map[name]v1alpha1.ContainerProbeState{}
	for i := range npp.Status.PodProbeStatuses {
		pod := &npp.Status.PodProbeStatuses[i]
		for _, state := range pod.ProbeStates {
			found[name{pod.UID, state.Name}] = state
		}
	}
	out, twins := map[key]v1alpha1.ContainerProbeState{}, twinsOf(&npp.Spec)
	for i := range npp.Spec.PodProbes {
		entry := &npp.Spec.PodProbes[i]
		for j := range entry.Probes {
			p := &entry.Probes[j]
			k := key{types.UID(entry.UID), p.ContainerName, p.Name}
			if state, ok := found[name{entry.UID, p.Name}]; ok && !twins[k] {
				out[k] = state
			}
		}
	}
	return out
}

// statusPlan is what the status of a NodePodProbe should be, in the order of its spec.
type statusPlan struct {
	statuses []v1alpha1.PodProbeStatus
	// transitions are the probes whose state is new.
	transitions []result
	// changed tells that a state, a message, an instance or which probes there are differs from what is stored.
	changed bool
	// stale is the age by which the oldest stored time of a probe that runs lags behind.
	stale time.Duration
}

// planStatus takes the stored states of probes that are still wanted, and puts what was found on top. Probes whose name
// is taken have no place in a status.
func planStatus(npp *v1alpha1.NodePodProbe, stored map[key]v1alpha1.ContainerProbeState, found map[key]result) statusPlan {
	plan, twins := statusPlan{}, twinsOf(&npp.Spec)
	for i := range npp.Spec.PodProbes {
		entry := &npp.Spec.PodProbes[i]
		pod := v1alpha1.PodProbeStatus{Name: entry.Name, Namespace: entry.Namespace, UID: entry.UID}
		for j := range entry.Probes {
			k := key{types.UID(entry.UID), entry.Probes[j].ContainerName, entry.Probes[j].Name}
			if twins[k] {
				continue
			}
			if state, ok := plan.state(stored[k], found, k); ok {
				pod.ProbeStates = append(pod.ProbeStates, state)
			}
		}
		if len(pod.ProbeStates) > 0 {
			plan.statuses = append(plan.statuses, pod)
		}
	}
	plan.changed = plan.changed || !sameShape(npp.Status.PodProbeStatuses, plan.statuses)
	return plan
}

// state is what to write of one probe; not ok when nothing is known of it.
func (plan *statusPlan) state(old v1alpha1.ContainerProbeState, found map[key]result, k key) (v1alpha1.ContainerProbeState, bool) {
	r, ok := found[k]
	if !ok {
		old.LastProbeTime, old.LastTransitionTime = said(old.LastProbeTime), said(old.LastTransitionTime)
		return old, old.State != ""
	}
	state := r.published()
	state.LastProbeTime, state.LastTransitionTime = metav1.NewTime(r.probed), old.LastTransitionTime
	if r.probed.IsZero() {
		state.LastProbeTime = metav1.NewTime(r.since) // the API has no word for never
	}
	if old.State != state.State || old.LastTransitionTime.IsZero() {
		state.LastTransitionTime = metav1.NewTime(r.since)
	}
	if old.State != state.State {
		plan.transitions = append(plan.transitions, r)
	}
	if old.State != state.State || old.Message != state.Message || old.ContainerID != state.ContainerID {
		plan.changed = true
	}
	state.LastProbeTime, state.LastTransitionTime = said(state.LastProbeTime), said(state.LastTransitionTime)
	plan.stale = max(plan.stale, state.LastProbeTime.Sub(old.LastProbeTime.Time))
	return state, true
}

// sameShape says whether two statuses speak of the same probes in the same order.
func sameShape(a, b []v1alpha1.PodProbeStatus) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.UID != y.UID || x.Name != y.Name || x.Namespace != y.Namespace || len(x.ProbeStates) != len(y.ProbeStates) {
			return false
		}
		for j := range x.ProbeStates {
			if x.ProbeStates[j].Name != y.ProbeStates[j].Name {
				return false
			}
		}
	}
	return true
}

// said makes a time that is not known one that the API server takes.
func said(t metav1.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Unix(0, 0)
	}
	return t
}
