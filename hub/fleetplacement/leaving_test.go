// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"testing"
	"time"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func TestForsaken(t *testing.T) {
	const threshold = 40 * time.Second
	for name, tc := range map[string]struct {
		change func(*snapshot)
		want   string
		again  time.Duration
	}{
		"both clusters are there": {func(s *snapshot) { s.renewed = nil }, "", 0},
		"one is gone, its agent is at work": {func(s *snapshot) {
			delete(s.clusters, "b")
			s.renewed["b"] = epoch.Add(-10 * time.Second)
		}, "", 30*time.Second + time.Millisecond},
		"its lease is just not too old": {func(s *snapshot) {
			delete(s.clusters, "b")
			s.renewed["b"] = epoch.Add(-threshold)
		}, "", time.Millisecond},
		"its lease is too old": {func(s *snapshot) {
			delete(s.clusters, "b")
			s.renewed["b"] = epoch.Add(-threshold - time.Millisecond)
		}, "b", 0},
		"its lease is gone": {func(s *snapshot) {
			delete(s.clusters, "b")
			delete(s.renewed, "b")
		}, "b", 0},
		"both are gone, one agent is at work": {func(s *snapshot) {
			s.clusters = nil
			delete(s.renewed, "b")
		}, "b", threshold + time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := standing()
			tc.change(s)
			out, again := forsaken(s, []*fleetv1alpha1.FleetSlice{s.slices["a"], s.slices["b"]}, threshold)
			if got := names(out); got != tc.want || again != tc.again {
				t.Errorf("%q after %v", got, again)
			}
		})
	}
}
