// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"fmt"
	"math/big"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fleet is a request that changes at random, as clusters come and go.
type fleet struct {
	*rand.Rand
	req  Request
	next int
}

func newFleet(seed int64) *fleet {
	f := &fleet{Rand: rand.New(rand.NewSource(seed)), req: Request{Key: fmt.Sprint("uid-", seed)}}
	for range 1 + f.Intn(4) {
		f.join()
	}
	f.req.Replicas = f.Int31n(40)
	return f
}

func (f *fleet) join() {
	f.next++
	f.req.Buckets = append(f.req.Buckets, Bucket{Name: fmt.Sprint("c", f.next), Weight: f.weight(), Hi: Unbounded})
}

// weight is mostly 1, sometimes 0, small or huge.
func (f *fleet) weight() int32 {
	switch f.Intn(8) {
	case 0:
		return 0
	case 1, 2:
		return 1 + f.Int31n(7)
	case 3:
		return 1 + f.Int31n(1000000)
	default:
		return 1
	}
}

// mutate does one thing that happens to fleets. It returns false for a pure change of replicas.
func (f *fleet) mutate() bool {
	n := len(f.req.Buckets)
	switch kind := f.Intn(9); {
	case kind == 0 && n < 9:
		f.join()
	case kind == 1 && n > 0:
		i := f.Intn(n)
		f.req.Buckets = slices.Delete(f.req.Buckets, i, i+1)
	case kind == 2 && n > 0:
		f.req.Buckets[f.Intn(n)].Weight = f.weight()
	case kind == 3 && n > 0:
		b := &f.req.Buckets[f.Intn(n)]
		b.Hi = []int32{Unbounded, f.Int31n(20), b.Current}[f.Intn(3)]
		b.Lo = min(b.Lo, b.Hi)
	case kind == 4 && n > 0:
		b := &f.req.Buckets[f.Intn(n)]
		b.Lo = []int32{0, min(f.Int31n(6), b.Hi)}[f.Intn(2)]
	case kind == 5:
		f.req.Replicas = f.Int31n(100000)
		return false
	default:
		f.req.Replicas = max(0, f.req.Replicas+f.Int31n(21)-10)
		return false
	}
	return true
}

func (f *fleet) accept(r Result) {
	for i := range f.req.Buckets {
		f.req.Buckets[i].Current = r.Of(f.req.Buckets[i].Name)
	}
}

// TestRandomSequences runs 12,000 fleets through 15 changes each and checks every promise of the
// package at every step.
func TestRandomSequences(t *testing.T) {
	for seed := range int64(12000) {
		f := newFleet(seed)
		f.accept(check(t, f.req))
		for range 15 {
			before := f.req
			before.Buckets = slices.Clone(f.req.Buckets)
			structural := f.mutate()
			r := check(t, f.req)
			if !structural {
				checkMonotone(t, before, f.req, r)
			}
			f.accept(r)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// check divides and holds the result against the promises that need no history.
func check(t *testing.T, req Request) Result {
	t.Helper()
	r := Steady(req)
	checkSumAndBounds(t, req, r)
	if d := cmp.Diff(naive(req), shares(r)); d != "" {
		t.Errorf("not what one step after another gives: %s\n%+v", d, req)
	}
	shuffled := req
	shuffled.Buckets = slices.Clone(req.Buckets)
	slices.Reverse(shuffled.Buckets)
	if d := cmp.Diff(r, Steady(shuffled)); d != "" {
		t.Errorf("order matters: %s\n%+v", d, req)
	}
	again := shuffled
	for i := range again.Buckets {
		again.Buckets[i].Current = r.Of(again.Buckets[i].Name)
	}
	if second := Steady(again); len(second.Moves) > 0 || second.Short != r.Short {
		t.Errorf("not idempotent: %+v\n%+v", second.Moves, req)
	}
	if moved, least := movement(req, r), leastMovement(req); moved != least {
		t.Errorf("moved %d, %d would do\n%+v", moved, least, req)
	}
	return r
}

func checkSumAndBounds(t *testing.T, req Request, r Result) {
	t.Helper()
	var total, lows, highs int64
	for _, b := range req.Buckets {
		lo, hi := bounds(b)
		x := int64(r.Of(b.Name))
		total, lows, highs = total+x, lows+lo, highs+hi
		if x > hi {
			t.Errorf("%s has %d of at most %d", b.Name, x, hi)
		}
	}
	if want := min(int64(req.Replicas), highs); total != want || int64(r.Short) != int64(req.Replicas)-want {
		t.Errorf("sum %d short %d of %d, room for %d\n%+v", total, r.Short, req.Replicas, highs, req)
	}
	for _, b := range req.Buckets {
		if lo, _ := bounds(b); lows <= int64(req.Replicas) && int64(r.Of(b.Name)) < lo {
			t.Errorf("%s has %d of at least %d", b.Name, r.Of(b.Name), lo)
		}
	}
}

// checkMonotone: a change of replicas alone moves all shares one way, from a state that was in bounds.
func checkMonotone(t *testing.T, before, after Request, r Result) {
	t.Helper()
	for _, b := range before.Buckets {
		lo, hi := bounds(b)
		if was := int64(b.Current); was < lo || was > hi {
			return
		}
		if after.Replicas > before.Replicas && r.Of(b.Name) < b.Current {
			t.Errorf("growing lowered %s from %d to %d", b.Name, b.Current, r.Of(b.Name))
		}
		if after.Replicas < before.Replicas && r.Of(b.Name) > b.Current {
			t.Errorf("shrinking raised %s from %d to %d", b.Name, b.Current, r.Of(b.Name))
		}
	}
}

func bounds(b Bucket) (lo, hi int64) {
	if b.Weight == 0 {
		return int64(b.Lo), int64(b.Lo)
	}
	return int64(b.Lo), int64(b.Hi)
}

func movement(req Request, r Result) (moved int64) {
	for _, b := range req.Buckets {
		moved += abs(int64(r.Of(b.Name)) - int64(b.Current))
	}
	return moved
}

// leastMovement is what the bounds and the sum force at the least: each share to its nearest bound, and
// the rest of the sum once. When the lower bounds cannot all be served, rank decides, not movement.
func leastMovement(req Request) (moved int64) {
	var clamped, lows, highs int64
	for _, b := range req.Buckets {
		lo, hi := bounds(b)
		x := min(max(int64(b.Current), lo), hi)
		moved, clamped, lows, highs = moved+abs(x-int64(b.Current)), clamped+x, lows+lo, highs+hi
	}
	if lows > int64(req.Replicas) {
		return movement(req, Steady(req))
	}
	return moved + abs(min(int64(req.Replicas), highs)-clamped)
}

func abs(x int64) int64 { return max(x, -x) }

// naive is the rule as it is written down, one replica after another over rational numbers; nil when
// the division is too large for that.
func naive(req Request) map[string]int32 {
	r := Steady(req)
	if len(r.Moves) > 0 && movement(req, r) > 400 {
		return shares(r)
	}
	x, total, lows := map[string]int64{}, int64(0), int64(0)
	for _, b := range req.Buckets {
		lo, hi := bounds(b)
		x[b.Name] = min(max(int64(b.Current), lo), hi)
		total, lows = total+x[b.Name], lows+lo
	}
	if lows > int64(req.Replicas) {
		return shares(r)
	}
	for ; total < int64(req.Replicas); total++ {
		b := best(req, func(b Bucket) bool { _, hi := bounds(b); return x[b.Name] < hi }, func(b Bucket) int64 { return 2*x[b.Name] + 1 }, -1)
		if b == "" {
			break
		}
		x[b]++
	}
	for ; total > int64(req.Replicas); total-- {
		x[best(req, func(b Bucket) bool { lo, _ := bounds(b); return x[b.Name] > lo }, func(b Bucket) int64 { return 2*x[b.Name] - 1 }, 1)]--
	}
	out := map[string]int32{}
	for n, v := range x {
		out[n] = int32(v)
	}
	return out
}

// best is the open bucket whose price is the least (sign -1) or the greatest (sign 1).
func best(req Request, open func(Bucket) bool, numerator func(Bucket) int64, sign int) (name string) {
	var price *big.Rat
	var tie uint64
	for _, b := range req.Buckets {
		if !open(b) {
			continue
		}
		p, h := big.NewRat(numerator(b), int64(b.Weight)), tieOf(req.Key, b.Name)
		if c := sign; price == nil || p.Cmp(price) == c || p.Cmp(price) == 0 && (h > tie) == (c > 0) {
			price, tie, name = p, h, b.Name
		}
	}
	return name
}

// TestPathDoesNotMatter: without bounds and from nothing, growing step by step, growing at once and
// shrinking back all give Webster's division.
func TestPathDoesNotMatter(t *testing.T) {
	for seed := range int64(300) {
		f := newFleet(seed)
		for f.req.Replicas = 0; f.req.Replicas < 60; f.req.Replicas++ {
			f.accept(Steady(f.req))
		}
		f.req.Replicas = 37
		f.accept(Steady(f.req))
		if d := cmp.Diff(Ideal(f.req).Shares, Steady(f.req).Shares); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}
