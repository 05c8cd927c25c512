// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// unset is a maximum that is not said.
const unset = -1

// subsetsOf builds subsets; missing numbers of min are 0, of maxima unset.
func subsetsOf(current, mins, maxima []int) []Subset {
	out := make([]Subset, len(current))
	for i := range current {
		out[i] = Subset{Name: string(rune('a' + i)), Current: int32(current[i]), State: State{Exists: true}}
		if i < len(mins) {
			out[i].Min = num(mins[i])
		}
		if i < len(maxima) && maxima[i] != unset {
			out[i].Max = num(maxima[i])
		}
	}
	return out
}

func listed(subsets []Subset, result Result) []int {
	out := make([]int, len(subsets))
	for i := range subsets {
		out[i] = int(result.Replicas[subsets[i].Name])
	}
	return out
}

func TestAdaptive(t *testing.T) {
	for _, tc := range []struct {
		total int32
		// pods of each subset, and how many of them find no node; -1: unschedulable yet though none is left.
		pods, pending, min, max, want []int
	}{
		{10, []int{5, 5}, []int{5, 0}, []int{3}, []int{5}, []int{3, 7}},
		{10, []int{5, 5}, []int{4, 0}, []int{3}, []int{5}, []int{3, 7}},
		{10, []int{5, 5}, []int{3, 0}, []int{3}, []int{5}, []int{3, 7}},
		{10, []int{5, 5}, []int{2, 0}, []int{3}, []int{5}, []int{3, 7}},
		{10, []int{5, 5}, []int{0, 0}, []int{3}, []int{5}, []int{5, 5}},
		{3, []int{2, 2}, []int{0, 0}, []int{1}, []int{2}, []int{2, 1}},
		{3, []int{1, 3}, []int{1, 0}, []int{1}, []int{2}, []int{1, 2}},
		{3, []int{1, 3}, []int{1, 0}, []int{0}, []int{2}, []int{0, 3}},
		{4, []int{2, 2, 0, 0}, []int{0, 2, 0, 0}, []int{0}, []int{2}, []int{2, 0, 2, 0}},
		{4, []int{2, 0, 2, 0}, []int{0, -1, 2, 0}, []int{0}, []int{2}, []int{2, 0, 0, 2}},
		{8, []int{2, 0, 0, 2}, []int{0, -1, -1, 0}, []int{0}, []int{2}, []int{2, 0, 0, 6}},
		{8, []int{2, 0, 0, 2}, []int{0, 0, 0, 0}, []int{0}, []int{2}, []int{2, 4, 0, 2}},
		{4, []int{2, 0, 0, 6}, []int{0, 0, 0, 0}, []int{0}, nil, []int{2, 0, 0, 2}},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			subsets := subsetsOf(tc.pods, tc.min, tc.max)
			for i := range subsets {
				subsets[i].State.Unschedulable = tc.pending[i] != 0
				subsets[i].State.Ready = int32(tc.pods[i] - max(0, tc.pending[i]))
			}
			got, err := Adaptive(&tc.total, subsets)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, listed(subsets, got)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A subset that is not there yet is no reason to keep pods from it.
func TestAdaptiveTakesNewSubsets(t *testing.T) {
	total := int32(4)
	subsets := subsetsOf([]int{0, 0}, nil, []int{2})
	subsets[0].State = State{Unschedulable: true}
	got, err := Adaptive(&total, subsets)
	if d := cmp.Diff([]int{2, 2}, listed(subsets, got)); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestReserve(t *testing.T) {
	for _, tc := range []struct {
		total int32
		// reserved pods of each subset; -1: none, but it was unschedulable the pass before.
		min, max, current, reserved, want []int
	}{
		{8, []int{1, 1, 1, 1}, []int{2, 2, 2}, []int{0, 0, 0, 0}, []int{0, 0, 0, 0}, []int{2, 2, 2, 2}},
		{8, []int{1, 1, 1, 1}, []int{2, 2, 2}, []int{2, 2, 2, 2}, []int{0, 2, 2, 0}, []int{2, 2, 2, 6}},
		{8, []int{1, 1, 1, 1}, []int{2, 2, 2}, []int{2, 2, 2, 6}, []int{0, 1, 1, 0}, []int{2, 2, 2, 4}},
		{8, []int{1, 1, 1, 1}, []int{2, 2, 2}, []int{2, 2, 2, 4}, []int{0, -1, 1, 0}, []int{2, 2, 2, 3}},
		{8, []int{1, 1, 1, 1}, []int{2, 2, 2}, []int{2, 2, 2, 3}, []int{0, 0, -1, 0}, []int{2, 2, 2, 2}},
		{16, []int{2, 2, 2, 2}, []int{4, 4, 4}, []int{2, 2, 2, 6}, []int{0, 1, 1, 0}, []int{4, 2, 2, 10}},
		{16, []int{2, 2, 2, 2}, []int{4, 4, 4}, []int{4, 2, 2, 10}, []int{0, -1, -1, 0}, []int{4, 4, 4, 8}},
		{16, []int{2, 2, 2, 2}, []int{4, 4, 4}, []int{4, 4, 4, 8}, []int{0, 2, 2, 0}, []int{4, 4, 4, 8}},
		{16, []int{2, 2, 2, 2}, []int{4, 4, 4}, []int{4, 4, 4, 8}, []int{0, -1, -1, 0}, []int{4, 4, 4, 4}},
		{2, nil, nil, []int{2, 0, 0}, []int{2, 0, 0}, []int{2, 2, 0}},
		{2, nil, nil, []int{2, 2, 0}, []int{2, 2, 0}, []int{2, 2, 2}},
		{4, nil, nil, []int{2, 2, 2}, []int{2, 2, 0}, []int{2, 2, 4}},
		{4, nil, nil, []int{2, 2, 4}, []int{4, -1, 0}, []int{2, 4, 2}},
		{2, nil, nil, []int{2, 2, 1}, []int{0, 1, 0}, []int{2, 0, 0}},
		{4, nil, nil, []int{2, 2, 4}, []int{-1, 2, 0}, []int{4, 2, 2}},
		{2, []int{1, 1, 0}, nil, []int{1, 1, 2}, []int{-1, 1, 0}, []int{2, 1, 1}},
		{2, []int{1, 1, 0}, nil, []int{2, 1, 1}, []int{0, 1, 0}, []int{2, 1, 0}},
		{2, []int{1, 1, 0}, nil, []int{2, 1, 0}, []int{0, -1, 0}, []int{1, 1, 0}},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			subsets := subsetsOf(tc.current, tc.min, tc.max)
			for i := range subsets {
				subsets[i].State.Reserved = int32(max(0, tc.reserved[i]))
				subsets[i].State.Unschedulable, subsets[i].State.Marked = tc.reserved[i] > 0, tc.reserved[i] != 0
			}
			got, err := Reserve(&tc.total, subsets)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, listed(subsets, got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBadBounds(t *testing.T) {
	total, subsets := int32(4), []Subset{{Name: "a", Min: num(3), Max: num(2)}}
	for name, rule := range map[string]func(*int32, []Subset) (Result, error){"adaptive": Adaptive, "reserve": Reserve} {
		if _, err := rule(&total, subsets); err == nil {
			t.Errorf("%s took them", name)
		}
	}
	for name, rule := range map[string]func(*int32, []Subset) (Result, error){"adaptive": Adaptive, "reserve": Reserve} {
		if got, err := rule(nil, []Subset{{Name: "a"}}); err != nil || got.Replicas["a"] != 0 {
			t.Errorf("%s without a total: %v, %v", name, got, err)
		}
	}
}

// The sum is exact, subsets that can schedule keep what is ready as far as total and maxima go, and one that cannot gets
// no more than its minimum and what is ready.
func TestAdaptiveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, subsets := drawStates(t)
		got, err := Adaptive(&total, subsets)
		if err != nil {
			t.Fatal(err)
		}
		bounds, _ := BoundsOf(&total, subsets)
		sum, kept := got.Unplaced, int64(0)
		for i, s := range subsets {
			n := got.Replicas[s.Name]
			sum += n
			if n < 0 || n > max(bounds[i].Max, s.State.Ready) {
				t.Fatalf("%s gets %d of %d", s.Name, n, bounds[i].Max)
			}
			if s.State.Unschedulable && n > max(bounds[i].Min, s.State.Ready) {
				t.Fatalf("%s, unschedulable, gets %d", s.Name, n)
			}
			kept += int64(max(bounds[i].Min, min(s.State.Ready, bounds[i].Max)))
		}
		if sum != total {
			t.Fatalf("sum %d of %d", sum, total)
		}
		for i, s := range subsets {
			if n := got.Replicas[s.Name]; kept <= int64(total) && !s.State.Unschedulable && n < min(s.State.Ready, bounds[i].Max) {
				t.Fatalf("%s loses ready pods: %d of %d", s.Name, n, s.State.Ready)
			}
		}
	})
}

// What is credited is the total or all there is room for; without any trouble it is MinMax; once nothing is in reserve
// and nothing is marked, the substitutes are gone.
func TestReserveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, subsets := drawStates(t)
		got, err := Reserve(&total, subsets)
		if err != nil {
			t.Fatal(err)
		}
		credited := int64(got.Unplaced)
		calm := make([]Subset, len(subsets))
		for i, s := range subsets {
			n := got.Replicas[s.Name]
			bounds, _ := BoundsOf(&total, subsets[i:i+1])
			if troubled := s.State.Unschedulable || s.State.Marked; troubled {
				credited += max(0, min(int64(n), int64(s.Current)-int64(s.State.Reserved)))
			} else {
				credited += int64(n)
			}
			if s.State.Unschedulable && n > max(s.Current, bounds[0].Min) {
				t.Fatalf("%s, unschedulable, grows from %d to %d", s.Name, s.Current, n)
			}
			calm[i] = s
			calm[i].State = State{Exists: true}
		}
		if credited != int64(total) {
			t.Fatalf("credited %d of %d: %v", credited, total, got)
		}
		after, err := Reserve(&total, calm)
		plain, plainErr := MinMax(&total, calm)
		if err != nil || plainErr != nil || !cmp.Equal(after, plain) {
			t.Fatalf("in calm %v, by bounds %v", after, plain)
		}
	})
}

func drawStates(t *rapid.T) (total int32, subsets []Subset) {
	total = rapid.Int32Range(0, 100).Draw(t, "total")
	for i := range rapid.IntRange(1, 5).Draw(t, "count") {
		current := rapid.Int32Range(0, 40).Draw(t, "current")
		unschedulable := rapid.Bool().Draw(t, "unschedulable")
		s := Subset{Name: string(rune('a' + i)), Current: current, State: State{
			Exists: true, Unschedulable: unschedulable, Marked: rapid.Bool().Draw(t, "marked"), Ready: rapid.Int32Range(0, current).Draw(t, "ready"),
		}}
		if unschedulable {
			s.State.Reserved = rapid.Int32Range(0, current).Draw(t, "reserved")
		}
		var low *intstr.IntOrString
		if rapid.Bool().Draw(t, "has min") {
			low = num(rapid.IntRange(0, 20).Draw(t, "min"))
			s.Min = low
		}
		if rapid.Bool().Draw(t, "has max") {
			s.Max = num(rapid.IntRange(20, 40).Draw(t, "max"))
		}
		subsets = append(subsets, s)
	}
	return total, subsets
}
