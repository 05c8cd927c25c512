// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"slices"
	"testing"
	"time"
)

// The newest instance of a container is the one that runs, or else the last that was made, whatever a clock that was set
// back says.
func TestNewestFirst(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		older, newer Container
	}{
		"a later one":                        {Container{CreatedAt: at}, Container{CreatedAt: at.Add(1)}},
		"a later attempt":                    {Container{CreatedAt: at}, Container{CreatedAt: at, Attempt: 1}},
		"a later attempt, clock set back":    {Container{CreatedAt: at.Add(time.Hour), State: ContainerExited}, Container{CreatedAt: at, Attempt: 1, State: ContainerCreated}},
		"one that runs, clock set back":      {Container{CreatedAt: at.Add(time.Hour), State: ContainerExited}, Container{CreatedAt: at, State: ContainerRunning}},
		"one that runs in a sandbox anew":    {Container{CreatedAt: at, Attempt: 7, State: ContainerExited}, Container{CreatedAt: at.Add(1), State: ContainerRunning}},
		"one that is made after it ran last": {Container{CreatedAt: at, State: ContainerExited}, Container{CreatedAt: at.Add(1), State: ContainerCreated}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.older.ID, tc.newer.ID = "older", "newer"
			for _, list := range [][]Container{{tc.older, tc.newer}, {tc.newer, tc.older}} {
				slices.SortStableFunc(list, newestFirst)
				if list[0].ID != "newer" {
					t.Errorf("%+v comes first", list[0])
				}
			}
		})
	}
}
