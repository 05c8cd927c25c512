// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"cmp"
	"slices"
)

// Unbounded is the upper bound of a bucket that has none.
const Unbounded = int32(1<<31 - 1)

// Bucket is one place replicas can go to: one cluster, for one subset.
type Bucket struct {
	// Name tells buckets apart; it is unique in a request.
	Name string
	// Weight is the bucket's part relative to the others. With 0 it gets Lo and no more.
	Weight int32
	// Lo and Hi bound the share, 0 <= Lo <= Hi; a Hi below Lo counts as Lo. Unbounded is no bound.
	Lo, Hi int32
	// Current is the share there is now.
	Current int32
	// Rank orders buckets when the lower bounds sum to more than there is: the lowest is served first.
	Rank int32
	// Why says where Hi comes from, for people.
	Why string
}

// Request is one division.
type Request struct {
	// Key decides ties, together with the buckets' names: the uid of the object and the subset.
	Key string
	// Replicas to divide; below 0 counts as 0.
	Replicas int32
	// Buckets in any order.
	Buckets []Bucket
}

// Share is what one bucket gets.
type Share struct {
	// Name of the bucket.
	Name string
	// Replicas it gets.
	Replicas int32
}

// Reason says why a share moved.
type Reason string

const (
	// Bound: the share was outside its bounds.
	Bound Reason = "Bound"
	// Grow: the total rose.
	Grow Reason = "Grow"
	// Shrink: the total fell.
	Shrink Reason = "Shrink"
	// Displaced: another share's bounds forced replicas over here, or away from here.
	Displaced Reason = "Displaced"
)

// Move is the change of one share.
type Move struct {
	// Name of the bucket.
	Name string
	// From and To are replicas before and after; they differ.
	From, To int32
	// Reason of the change.
	Reason Reason
}

// Full is a bucket that cannot take more while replicas are without a place.
type Full struct {
	// Name of the bucket.
	Name string
	// Replicas it has.
	Replicas int32
	// Why it takes no more.
	Why string
}

// Result is a division.
type Result struct {
	// Shares of all buckets, by name.
	Shares []Share
	// Moves are the shares that changed, by name.
	Moves []Move
	// Short is how many replicas have no place.
	Short int32
	// Full names every bucket, by name, when Short is above 0.
	Full []Full
}

// Of returns the share of a bucket, 0 when it is not in the result.
func (r Result) Of(name string) int32 {
	i, ok := slices.BinarySearchFunc(r.Shares, name, func(s Share, n string) int { return cmp.Compare(s.Name, n) })
	if !ok {
		return 0
	}
	return r.Shares[i].Replicas
}

// Steady divides with the fewest moves from the current shares.
func Steady(req Request) Result {
	total := int64(max(req.Replicas, 0))
	cells := cellsOf(req)
	switch lows, highs := sum(cells, low), sum(cells, high); {
	case lows > total:
		serveByRank(cells, total)
	case highs < total:
		settle(cells, high)
	default:
		fit(cells, total)
	}
	return resultOf(cells, total)
}

// Ideal divides from scratch, within the bounds and as if there were no shares yet.
func Ideal(req Request) Result {
	fresh := req
	fresh.Buckets = slices.Clone(req.Buckets)
	for i := range fresh.Buckets {
		fresh.Buckets[i].Current = 0
	}
	return Steady(fresh)
}

// fit clamps the shares and then gives or takes what is left over.
func fit(cells []cell, total int64) {
	settle(cells, func(c cell) int64 { return min(max(c.current, c.lo), c.hi) })
	switch sharesum := sum(cells, share); {
	case sharesum < total:
		give(cells, total)
	case sharesum > total:
		take(cells, total)
	}
}

// serveByRank hands out lower bounds in order of rank until nothing is left.
func serveByRank(cells []cell, total int64) {
	order := make([]*cell, len(cells))
	for i := range cells {
		order[i] = &cells[i]
	}
	slices.SortFunc(order, func(a, b *cell) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.tie, b.tie), cmp.Compare(a.name, b.name))
	})
	for _, c := range order {
		c.x = min(c.lo, total)
		total -= c.x
	}
}

func settle(cells []cell, at func(cell) int64) {
	for i := range cells {
		cells[i].x = at(cells[i])
	}
}
