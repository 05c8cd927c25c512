// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
)

func TestStuck(t *testing.T) {
	said := func(replicas, unschedulable int32) map[string][]fleetv1alpha1.SpreadCounters {
		return map[string][]fleetv1alpha1.SpreadCounters{"east": {{Subset: "a", Replicas: replicas, UnschedulableReplicas: unschedulable}, {Subset: "b", Replicas: 3}}}
	}
	at := func(most int32) share.Holdings { return share.Holdings{"east": {"a": most}} }
	var s stuck
	for _, step := range []struct {
		what  string
		after time.Duration
		said  map[string][]fleetv1alpha1.SpreadCounters
		want  share.Holdings
		again time.Duration
	}{
		{"nothing", 0, said(4, 0), share.Holdings{}, 0},
		{"some find no node", 0, said(4, 3), at(1), 5 * time.Minute},
		{"they are moved on, and that is remembered", time.Minute, said(1, 0), at(1), 4 * time.Minute},
		{"a count of before the move says nothing new", 2 * time.Minute, said(4, 1), at(1), 5 * time.Minute},
		{"fewer yet", 3 * time.Minute, said(1, 1), at(0), 5 * time.Minute},
		{"tried again", 8 * time.Minute, said(0, 0), share.Holdings{}, 0},
		{"more than there were", 9 * time.Minute, said(6, 1), at(5), 5 * time.Minute},
		{"counts that contradict", 20 * time.Minute, said(1, 2), at(0), 5 * time.Minute},
	} {
		most, again := s.note("p", step.said, epoch.Add(step.after))
		if d := cmp.Diff(step.want, most); d != "" || again != step.again {
			t.Errorf("%s: again after %s: %s", step.what, again, d)
		}
	}
	if most, _ := s.note("other", nil, epoch); len(most) > 0 {
		t.Error("one placement's count for another")
	}
	s.forget("p")
	if most, _ := s.note("p", nil, epoch.Add(20*time.Minute)); len(most) > 0 || len(s.by) > 0 {
		t.Error(most, s.by)
	}
}
