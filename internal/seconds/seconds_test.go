// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package seconds

import (
	"math"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		0: 0, 1: time.Second, -1: -time.Second, 3600: time.Hour, 10_000_000_000: Most, math.MaxInt64: Most, math.MinInt64: -Most,
	} {
		if got := Of(n); got != want {
			t.Errorf("%d s: %v, want %v", n, got, want)
		}
	}
	if got := Of(int32(math.MaxInt32)); got != math.MaxInt32*time.Second {
		t.Error(got)
	}
	if now := time.Now(); !now.Add(Of(int64(math.MaxInt64)) + time.Hour).After(now) {
		t.Error("a long time from now is past")
	}
}
