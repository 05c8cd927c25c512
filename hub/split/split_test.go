// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package split

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func shares(r Result) map[string]int32 {
	m := map[string]int32{}
	for _, s := range r.Shares {
		m[s.Name] = s.Replicas
	}
	return m
}

func bucket(name string, weight, current int32) Bucket {
	return Bucket{Name: name, Weight: weight, Hi: Unbounded, Current: current}
}

func TestSteady(t *testing.T) {
	for name, tc := range map[string]struct {
		req   Request
		want  map[string]int32
		moves []Move
		short int32
		full  []Full
	}{
		"nothing anywhere":      {req: Request{Replicas: 0}, want: map[string]int32{}},
		"no bucket":             {req: Request{Replicas: 3}, want: map[string]int32{}, short: 3},
		"one bucket takes all":  {req: Request{Replicas: 7, Buckets: []Bucket{bucket("a", 1, 2)}}, want: map[string]int32{"a": 7}, moves: []Move{{"a", 2, 7, Grow}}},
		"by weight":             {req: Request{Replicas: 8, Buckets: []Bucket{bucket("a", 3, 0), bucket("b", 1, 0)}}, want: map[string]int32{"a": 6, "b": 2}, moves: []Move{{"a", 0, 6, Grow}, {"b", 0, 2, Grow}}},
		"new bucket, no growth": {req: Request{Replicas: 8, Buckets: []Bucket{bucket("a", 1, 8), bucket("b", 1, 0)}}, want: map[string]int32{"a": 8, "b": 0}},
		"new bucket fills first": {req: Request{Replicas: 12, Buckets: []Bucket{bucket("a", 1, 8), bucket("b", 1, 0)}},
			want: map[string]int32{"a": 8, "b": 4}, moves: []Move{{"b", 0, 4, Grow}}},
		"shrink takes from the fullest": {req: Request{Replicas: 6, Buckets: []Bucket{bucket("a", 1, 8), bucket("b", 1, 2)}},
			want: map[string]int32{"a": 4, "b": 2}, moves: []Move{{"a", 8, 4, Shrink}}},
		"a bucket closes": {req: Request{Replicas: 10, Buckets: []Bucket{{Name: "a", Weight: 1, Hi: 0, Current: 5}, bucket("b", 1, 3), bucket("c", 1, 2)}},
			want: map[string]int32{"a": 0, "b": 5, "c": 5}, moves: []Move{{"a", 5, 0, Bound}, {"b", 3, 5, Displaced}, {"c", 2, 5, Displaced}}},
		"a lower bound pulls": {req: Request{Replicas: 10, Buckets: []Bucket{{Name: "a", Weight: 1, Lo: 7, Hi: Unbounded, Current: 5}, bucket("b", 1, 5)}},
			want: map[string]int32{"a": 7, "b": 3}, moves: []Move{{"a", 5, 7, Bound}, {"b", 5, 3, Displaced}}},
		"too little room": {req: Request{Replicas: 10, Buckets: []Bucket{{Name: "a", Weight: 1, Hi: 4, Why: "only 4 fit"}, {Name: "b", Weight: 0, Hi: Unbounded}}},
			want: map[string]int32{"a": 4, "b": 0}, moves: []Move{{"a", 0, 4, Grow}}, short: 6,
			full: []Full{{"a", 4, "only 4 fit"}, {"b", 0, "its weight is 0"}}},
		"lower bounds by rank": {req: Request{Replicas: 5, Buckets: []Bucket{{Name: "a", Weight: 1, Lo: 4, Hi: 9, Rank: 2}, {Name: "b", Weight: 1, Lo: 4, Hi: 9, Rank: 1}}},
			want: map[string]int32{"a": 1, "b": 4}, moves: []Move{{"a", 0, 1, Grow}, {"b", 0, 4, Bound}}},
		"negative total": {req: Request{Replicas: -1, Buckets: []Bucket{bucket("a", 1, 2)}}, want: map[string]int32{"a": 0}, moves: []Move{{"a", 2, 0, Shrink}}},
		"as large as can be": {req: Request{Replicas: Unbounded, Buckets: []Bucket{bucket("a", 1000000, 0), bucket("b", 1000000, 0)}},
			want: map[string]int32{"a": 1073741823, "b": 1073741824}, moves: []Move{{"a", 0, 1073741823, Grow}, {"b", 0, 1073741824, Grow}}},
		"as uneven as can be": {req: Request{Replicas: Unbounded, Buckets: []Bucket{bucket("a", Unbounded, 0), bucket("b", 1, 0)}},
			want: map[string]int32{"a": 2147483646, "b": 1}, moves: []Move{{"a", 0, 2147483646, Grow}, {"b", 0, 1, Grow}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Steady(tc.req)
			if d := cmp.Diff(tc.want, shares(got)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.moves, got.Moves); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.full, got.Full); d != "" || got.Short != tc.short {
				t.Error(got.Short, d)
			}
			for n, x := range tc.want {
				if got.Of(n) != x {
					t.Errorf("Of(%s) = %d", n, got.Of(n))
				}
			}
			if got.Of("none") != 0 {
				t.Error("an unknown bucket has a share")
			}
		})
	}
}

// TestTiesSpread: single-replica workloads do not all go to one of two equal clusters.
func TestTiesSpread(t *testing.T) {
	var first int32
	for i := range 1000 {
		r := Steady(Request{Key: string(rune('a'+i%26)) + string(rune('a'+i/26)), Replicas: 1, Buckets: []Bucket{bucket("a", 1, 0), bucket("b", 1, 0)}})
		first += r.Of("a")
	}
	if first < 400 || first > 600 {
		t.Errorf("%d of 1000 went to a", first)
	}
}

func TestIdealForgetsShares(t *testing.T) {
	r := Ideal(Request{Replicas: 10, Buckets: []Bucket{bucket("a", 1, 10), bucket("b", 1, 0)}})
	if r.Of("a") != 5 || r.Of("b") != 5 {
		t.Error(r.Shares)
	}
}

func BenchmarkSteady(b *testing.B) {
	req := Request{Replicas: 10000}
	for i := range 100 {
		req.Buckets = append(req.Buckets, bucket(string(rune('a'+i%26))+string(rune('a'+i/26)), int32(1+i%5), 0))
	}
	for b.Loop() {
		Steady(req)
	}
}
