// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clientevents "k8s.io/client-go/tools/events"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

func TestRuntimeNotices(t *testing.T) {
	type change struct {
		after time.Duration
		state cri.State
	}
	tests := map[string]struct {
		changes []change
		want    []string
	}{
		"there at once":        {changes: []change{{0, cri.Searching}, {time.Second, cri.Up}}},
		"never found":          {changes: []change{{0, cri.Searching}}, want: []string{"Warning ContainerRuntimeUnavailable"}},
		"found late":           {changes: []change{{0, cri.Searching}, {time.Minute, cri.Up}}, want: []string{"Warning ContainerRuntimeUnavailable", "Normal ContainerRuntimeAvailable"}},
		"a restart is no news": {changes: []change{{0, cri.Up}, {time.Minute, cri.Lost}, {5 * time.Second, cri.Up}}},
		"lost for long":        {changes: []change{{0, cri.Up}, {time.Minute, cri.Lost}, {time.Second, cri.Lost}, {time.Hour, cri.Lost}}, want: []string{"Warning ContainerRuntimeUnavailable"}},
		"lost, back, lost again": {
			changes: []change{{0, cri.Up}, {time.Minute, cri.Lost}, {time.Minute, cri.Up}, {time.Minute, cri.Lost}},
			want:    []string{"Warning ContainerRuntimeUnavailable", "Normal ContainerRuntimeAvailable", "Warning ContainerRuntimeUnavailable"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				statuses := make(chan cri.Status, 1)
				recorder := clientevents.NewFakeRecorder(10)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				n := &runtimeNotices{statuses: statuses, events: events.New(recorder), node: "n", after: noticeAfter}
				go func() { ended <- n.Start(ctx) }()
				for _, c := range tc.changes {
					time.Sleep(c.after) // the bubble's clock
					statuses <- cri.Status{State: c.state, Reason: strings.Repeat("é", 2000)}
					synctest.Wait()
				}
				time.Sleep(time.Hour)
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Start: %v", err)
				}
				close(recorder.Events)
				var got []string
				for e := range recorder.Events {
					got = append(got, e)
				}
				if len(got) != len(tc.want) {
					t.Fatalf("events %v, want %v", got, tc.want)
				}
				for i := range got {
					if !strings.HasPrefix(got[i], tc.want[i]) || len(got[i]) > maxNote+100 {
						t.Errorf("event %d = %q, want %q", i, got[i], tc.want[i])
					}
				}
			})
		})
	}
}
