// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import "time"

const (
	// A write is earned every writeEvery, as many as writeBurst are saved up, and writeGap lies between any two.
	writeEvery = 2 * time.Second
	writeBurst = 5
	writeGap   = time.Second

	// Progress alone is written when a tag went on by progressStep points, and not sooner than progressGap after the
	// write before it.
	progressStep = 5
	progressGap  = 10 * time.Second
)

// budget says when the status may be written. The zero value is a full one.
type budget struct {
	spent   float64
	counted time.Time
	last    time.Time
}

// take spends a write, or returns how long to wait for it.
func (b *budget) take(now time.Time) time.Duration {
	if wait := b.last.Add(writeGap).Sub(now); !b.last.IsZero() && wait > 0 {
		return wait
	}
	b.spent = max(0, b.spent-float64(now.Sub(b.counted))/float64(writeEvery))
	b.counted = now
	if over := b.spent + 1 - writeBurst; over > 0 {
		return max(time.Duration(over*float64(writeEvery)), time.Millisecond)
	}
	b.spent++
	b.last = now
	return 0
}

// takeProgress is take for a write that tells of nothing but progress.
func (b *budget) takeProgress(now time.Time) time.Duration {
	if wait := b.last.Add(progressGap).Sub(now); !b.last.IsZero() && wait > 0 {
		return wait
	}
	return b.take(now)
}
