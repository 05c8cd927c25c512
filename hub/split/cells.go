// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// cell is a bucket at work.
type cell struct {
	name    string
	why     string
	weight  uint64
	lo, hi  int64
	current int64
	rank    int32
	tie     uint64
	x       int64 // the share being worked out
}

func low(c cell) int64   { return c.lo }
func high(c cell) int64  { return c.hi }
func share(c cell) int64 { return c.x }

func sum(cells []cell, of func(cell) int64) int64 {
	var total int64
	for _, c := range cells {
		total += of(c)
	}
	return total
}

// cellsOf normalises the buckets and sorts them by name.
func cellsOf(req Request) []cell {
	cells := make([]cell, 0, len(req.Buckets))
	for _, b := range req.Buckets {
		lo := int64(max(b.Lo, 0))
		c := cell{
			name: b.Name, why: b.Why, weight: uint64(max(b.Weight, 0)), rank: b.Rank,
			lo: lo, hi: max(int64(b.Hi), lo), current: int64(max(b.Current, 0)), tie: tieOf(req.Key, b.Name),
		}
		if c.weight == 0 && c.hi > c.lo {
			c.hi, c.why = c.lo, "its weight is 0"
		}
		cells = append(cells, c)
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.name, b.name) })
	return cells
}

func tieOf(key, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // a hash never fails to write
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

func resultOf(cells []cell, total int64) Result {
	r := Result{Shares: make([]Share, 0, len(cells)), Short: int32(max(total-sum(cells, share), 0))}
	before := sum(cells, func(c cell) int64 { return c.current })
	for _, c := range cells {
		r.Shares = append(r.Shares, Share{Name: c.name, Replicas: int32(c.x)})
		if c.x != c.current {
			r.Moves = append(r.Moves, Move{Name: c.name, From: int32(c.current), To: int32(c.x), Reason: reasonOf(c, before, total)})
		}
		if r.Short > 0 {
			r.Full = append(r.Full, Full{Name: c.name, Replicas: int32(c.x), Why: c.why})
		}
	}
	return r
}

func reasonOf(c cell, before, total int64) Reason {
	switch {
	case c.current < c.lo && c.x >= c.lo, c.current > c.hi && c.x <= c.hi:
		return Bound
	case c.x > c.current && total > before:
		return Grow
	case c.x < c.current && total < before:
		return Shrink
	default:
		return Displaced
	}
}
