// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

func at(s int) metav1.Time { return metav1.NewTime(started.Add(time.Duration(s) * time.Second)) }

func stateOf(name string, state v1alpha1.ProbeState, message string, since, probed int) v1alpha1.ContainerProbeState {
	return v1alpha1.ContainerProbeState{Name: name, State: state, Message: message, ContainerID: "c://1", LastTransitionTime: at(since), LastProbeTime: at(probed)}
}

func found(k key, state v1alpha1.ProbeState, message string, since, probed int) result {
	return result{k, machine{instance: "c://1", state: state, message: message}, at(since).Time, at(probed).Time}
}

// TestPlanStatus has one pod with probes m#a and m#b of one container, which must not disturb each other.
func TestPlanStatus(t *testing.T) {
	a, b := key{"u", "main", "m#a"}, key{"u", "main", "m#b"}
	stored := func(states ...v1alpha1.ContainerProbeState) []v1alpha1.PodProbeStatus {
		return []v1alpha1.PodProbeStatus{{Name: "web", Namespace: "ns", UID: "u", ProbeStates: states}}
	}
	for name, tc := range map[string]struct {
		stored      []v1alpha1.PodProbeStatus
		found       []result
		want        []v1alpha1.PodProbeStatus
		changed     bool
		transitions int
		stale       time.Duration
	}{
		"nothing is known": {},
		"PM-05 nothing changed": {
			stored(stateOf("m#a", "Succeeded", "x", 1, 2), stateOf("m#b", "Failed", "y", 1, 2)),
			[]result{found(a, "Succeeded", "x", 0, 32), found(b, "Failed", "y", 0, 12)},
			stored(stateOf("m#a", "Succeeded", "x", 1, 32), stateOf("m#b", "Failed", "y", 1, 12)), false, 0, 30 * time.Second,
		},
		"new": {
			nil, []result{found(a, "Unknown", "", 3, 3)},
			stored(stateOf("m#a", "Unknown", "", 3, 3)), true, 1, at(3).Sub(time.Time{}),
		},
		"PM-04 message changed": {
			stored(stateOf("m#a", "Succeeded", "x", 1, 2)), []result{found(a, "Succeeded", "z", 0, 4)},
			stored(stateOf("m#a", "Succeeded", "z", 1, 4)), true, 0, 2 * time.Second,
		},
		"one state changed": {
			stored(stateOf("m#a", "Succeeded", "x", 1, 2), stateOf("m#b", "Failed", "y", 1, 2)),
			[]result{found(a, "Succeeded", "x", 0, 2), found(b, "Succeeded", "", 5, 5)},
			stored(stateOf("m#a", "Succeeded", "x", 1, 2), stateOf("m#b", "Succeeded", "", 5, 5)), true, 1, 3 * time.Second,
		},
		"no longer wanted": {
			stored(stateOf("m#gone", "Succeeded", "", 1, 2), stateOf("m#b", "Failed", "y", 1, 2)), nil,
			stored(stateOf("m#b", "Failed", "y", 1, 2)), true, 0, 0,
		},
		"kept while there is no worker": {
			stored(stateOf("m#b", "Failed", "y", 1, 2)), nil,
			stored(stateOf("m#b", "Failed", "y", 1, 2)), false, 0, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			npp := &v1alpha1.NodePodProbe{}
			npp.Spec.PodProbes = []v1alpha1.PodProbe{entryOf("web", "u", probeOf("m#a", "main"), probeOf("m#b", "main")), entryOf("other", "o", probeOf("m#a", "main"))}
			npp.Status.PodProbeStatuses = tc.stored
			results := map[key]result{}
			for _, r := range tc.found {
				results[r.key] = r
			}
			plan := planStatus(npp, storedStates(npp), results)
			if diff := cmp.Diff(tc.want, plan.statuses); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if plan.changed != tc.changed || len(plan.transitions) != tc.transitions || plan.stale != tc.stale {
				t.Errorf("changed %v, %d transitions, stale by %s", plan.changed, len(plan.transitions), plan.stale)
			}
		})
	}
}

// Two probes of one name, which admission lets into no marker, are told apart by nothing in a status: the first alone is
// in it, or each pass would change it.
func TestStatusOfTwins(t *testing.T) {
	npp := &v1alpha1.NodePodProbe{}
	npp.Spec.PodProbes = []v1alpha1.PodProbe{
		entryOf("web", "u", probeOf("m#a", "main"), probeOf("m#a", "side")), entryOf("web", "u", probeOf("m#a", "late")), entryOf("other", "o", probeOf("m#a", "side")),
	}
	results := map[key]result{}
	for _, k := range []key{{"u", "main", "m#a"}, {"u", "side", "m#a"}, {"u", "late", "m#a"}, {"o", "side", "m#a"}} {
		results[k] = found(k, "Succeeded", k.container, 1, 2)
	}
	for pass := range 3 {
		plan := planStatus(npp, storedStates(npp), results)
		if plan.changed != (pass == 0) {
			t.Errorf("pass %d writes: %v", pass, plan.changed)
		}
		npp.Status.PodProbeStatuses = plan.statuses
	}
	want := []v1alpha1.PodProbeStatus{
		{Name: "web", Namespace: "ns", UID: "u", ProbeStates: []v1alpha1.ContainerProbeState{stateOf("m#a", "Succeeded", "main", 1, 2)}},
		{Name: "other", Namespace: "ns", UID: "o", ProbeStates: []v1alpha1.ContainerProbeState{stateOf("m#a", "Succeeded", "side", 1, 2)}},
	}
	if diff := cmp.Diff(want, npp.Status.PodProbeStatuses); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// Entries without times, which other agents write, get some: the API server takes no null.
func TestStatusHasTimes(t *testing.T) {
	npp := &v1alpha1.NodePodProbe{}
	npp.Spec.PodProbes = []v1alpha1.PodProbe{entryOf("web", "u", probeOf("m#a", "main"))}
	npp.Status.PodProbeStatuses = []v1alpha1.PodProbeStatus{{UID: "u", ProbeStates: []v1alpha1.ContainerProbeState{{Name: "m#a", State: "Failed"}}}}
	state := planStatus(npp, storedStates(npp), nil).statuses[0].ProbeStates[0]
	if state.LastProbeTime.IsZero() || state.LastTransitionTime.IsZero() {
		t.Errorf("no times: %+v", state)
	}
}

func TestRefreshesAreSpread(t *testing.T) {
	if patienceOf("node-1") == patienceOf("node-2") {
		t.Error("nodes are to refresh at their own times")
	}
	if p := patienceOf("node-1"); p < refreshAfter || p >= refreshAfter+refreshSpread {
		t.Errorf("refreshed after %s", p)
	}
}
