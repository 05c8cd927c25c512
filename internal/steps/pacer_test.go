// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestPacer(t *testing.T) {
	var p Pacer
	now := time.Unix(100, 0)
	p.Rest("small", time.Millisecond, now)
	p.Rest("big", time.Minute, now)
	for _, tc := range []struct {
		uid   string
		after time.Duration
		want  time.Duration
	}{
		{"small", 0, restFactor * time.Millisecond},
		{"small", restFactor * time.Millisecond, 0},
		{"small", time.Hour, 0},
		{"big", 0, longestRest},
		{"new", 0, 0},
	} {
		if got := p.Left(types.UID(tc.uid), now.Add(tc.after)); got != tc.want {
			t.Errorf("%s after %v: %v, want %v", tc.uid, tc.after, got, tc.want)
		}
	}
	p.Rest("another", 0, now.Add(time.Minute))
	if len(p.until) != 1 {
		t.Errorf("%d objects are remembered whose rest is over", len(p.until)-1)
	}
}
