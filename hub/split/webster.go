// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"cmp"
	"container/heap"
	"math/bits"
)

// A replica is a step of a share from x to x+1; its price is (x+½)/weight, that is (2x+1)/(2·weight).
// All replicas stand in one order: by price, then by tie, then by name. Giving takes the first ones
// that are not handed out yet, taking returns the last ones handed out, so each undoes the other.
//
// Instead of one step after another, a bisection finds the highest price at which all replicas up to it
// can be handed out; at most one replica of each share is then left to a heap.

// scale is the number of bits after the point of a price in the bisection. Weights stay below 2^scale,
// so between two neighbouring prices each share has at most one step.
const scale = 31

// topPrice is above the price of every step: shares stay below 2^31 and weights are at least 1.
const topPrice = uint64(1) << (scale + 31)

// affordable is how many steps of a share with that weight cost no more than price, at most limit:
// floor(price·weight/2^scale + ½).
func affordable(price, weight uint64, limit int64) int64 {
	hi, lo := bits.Mul64(price, weight)
	lo, carry := bits.Add64(lo, 1<<(scale-1), 0)
	hi += carry
	if hi>>(scale-1) != 0 {
		return limit // beyond 2^63 steps
	}
	return min(int64(hi<<(64-scale)|lo>>scale), limit)
}

// give raises shares until they sum to total. The upper bounds allow it.
func give(cells []cell, total int64) {
	raised := func(price uint64) func(cell) int64 {
		return func(c cell) int64 { return max(c.x, affordable(price, c.weight, c.hi)) }
	}
	price := bisect(func(price uint64) bool { return sum(cells, raised(price)) <= total })
	settle(cells, raised(price))
	step(cells, total-sum(cells, share), 1)
}

// take lowers shares until they sum to total. The lower bounds allow it.
func take(cells []cell, total int64) {
	lowered := func(price uint64) func(cell) int64 {
		return func(c cell) int64 { return min(c.x, max(affordable(price, c.weight, c.x), c.lo)) }
	}
	price := bisect(func(price uint64) bool { return sum(cells, lowered(price)) < total }) + 1
	settle(cells, lowered(price))
	step(cells, sum(cells, share)-total, -1)
}

// bisect returns the highest price below topPrice for which ok holds; ok holds up to some price and
// not beyond it. It returns topPrice-1 when it always holds, and 2^64-1 when it never does, so that
// adding 1 gives the lowest price for which ok does not hold.
func bisect(ok func(uint64) bool) uint64 {
	lo, hi := uint64(0), topPrice // the answer plus 1 is in [lo, hi]
	for lo < hi {
		mid := lo + (hi-lo)/2
		if ok(mid) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// step moves n replicas one at a time; by is 1 or -1.
func step(cells []cell, n int64, by int64) {
	q := &queue{by: by}
	for i := range cells {
		if q.open(&cells[i]) {
			q.cells = append(q.cells, &cells[i])
		}
	}
	heap.Init(q)
	for ; n > 0 && q.Len() > 0; n-- {
		c := q.cells[0]
		c.x += by
		if q.open(c) {
			heap.Fix(q, 0)
		} else {
			heap.Pop(q)
		}
	}
}

// queue holds the cells that can still move, the next to move first.
type queue struct {
	cells []*cell
	by    int64
}

func (q *queue) open(c *cell) bool {
	if q.by > 0 {
		return c.x < c.hi
	}
	return c.x > c.lo
}

func (q *queue) Len() int      { return len(q.cells) }
func (q *queue) Swap(i, j int) { q.cells[i], q.cells[j] = q.cells[j], q.cells[i] }
func (q *queue) Push(any)      {} // never grows after Init

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := q.cells[len(q.cells)-1]
	q.cells = q.cells[:len(q.cells)-1]
	return last
}

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool {
	order := compare(q.cells[i], q.cells[j], q.by)
	if q.by > 0 {
		return order < 0
	}
	return order > 0
}

// compare orders the next step of two cells: the step upwards from x, or the one that led to x.
func compare(a, b *cell, by int64) int {
	return cmp.Or(comparePrice(numerator(a, by), a.weight, numerator(b, by), b.weight),
		cmp.Compare(a.tie, b.tie), cmp.Compare(a.name, b.name))
}

// numerator is twice the price times the weight: 2x+1 upwards, 2x-1 downwards (x is above 0 then).
func numerator(c *cell, by int64) uint64 { return uint64(2*c.x + by) }

// comparePrice compares m/v with n/w. A weight of 0 is dearer than any other.
func comparePrice(m, v, n, w uint64) int {
	ahi, alo := bits.Mul64(m, w)
	bhi, blo := bits.Mul64(n, v)
	return cmp.Or(cmp.Compare(ahi, bhi), cmp.Compare(alo, blo))
}
