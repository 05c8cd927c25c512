// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

func num(n int) *intstr.IntOrString    { return ptr.To(intstr.FromInt32(int32(n))) }
func pct(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }

func TestSpecific(t *testing.T) {
	now := func(t1, t2, t3, t4 int32) []Subset {
		return []Subset{{Name: "t1", Current: t1}, {Name: "t2", Current: t2}, {Name: "t3", Current: t3}, {Name: "t4", Current: t4}}
	}
	four := now(1, 4, 2, 2)
	two := []Subset{{Name: "t1", Current: 0}, {Name: "t2", Current: 10}}
	some := now(4, 10, 4, 4)
	some[0].Replicas, some[2].Replicas = num(4), num(4)
	quarters := []Subset{{Name: "t1", Replicas: pct("25%")}, {Name: "t2", Replicas: pct("25%")}, {Name: "t3"}}
	three := []Subset{{Name: "a", Replicas: num(3)}, {Name: "b", Replicas: num(3)}}
	for name, tc := range map[string]struct {
		total   *int32
		subsets []Subset
		want    map[string]int32
		reduced bool
		err     error
	}{
		"even 5":                   {ptr.To[int32](5), four, map[string]int32{"t1": 1, "t3": 1, "t4": 1, "t2": 2}, false, nil},
		"even 17":                  {ptr.To[int32](17), four, map[string]int32{"t1": 4, "t3": 4, "t4": 4, "t2": 5}, false, nil},
		"even 19":                  {ptr.To[int32](19), two, map[string]int32{"t1": 9, "t2": 10}, false, nil},
		"even 21":                  {ptr.To[int32](21), two, map[string]int32{"t1": 10, "t2": 11}, false, nil},
		"some say 27":              {ptr.To[int32](27), some, map[string]int32{"t1": 4, "t3": 4, "t4": 9, "t2": 10}, false, nil},
		"all say too few":          {ptr.To[int32](14), []Subset{{Name: "a", Replicas: num(6)}, {Name: "b", Replicas: num(6)}}, nil, false, ErrTooFew},
		"quarters of 3":            {ptr.To[int32](3), quarters, map[string]int32{"t1": 1, "t2": 1, "t3": 1}, false, nil},
		"quarters of 4":            {ptr.To[int32](4), quarters, map[string]int32{"t1": 1, "t2": 1, "t3": 2}, false, nil},
		"quarters of 1":            {ptr.To[int32](1), quarters, map[string]int32{"t1": 0, "t2": 0, "t3": 1}, false, nil},
		"all say the total":        {ptr.To[int32](6), three, map[string]int32{"a": 3, "b": 3}, false, nil},
		"below the sum":            {ptr.To[int32](4), three, map[string]int32{"a": 3, "b": 1}, true, nil},
		"to zero":                  {ptr.To[int32](0), three, map[string]int32{"a": 0, "b": 0}, true, nil},
		"unknown total, all say":   {nil, three, map[string]int32{"a": 3, "b": 3}, false, nil},
		"unknown total, some open": {nil, some, nil, false, ErrNoTotal},
		"unreadable counts unset":  {ptr.To[int32](4), []Subset{{Name: "a", Replicas: pct("x")}, {Name: "b", Replicas: num(1)}}, map[string]int32{"a": 3, "b": 1}, false, nil},
		"no subsets":               {ptr.To[int32](4), nil, map[string]int32{}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fixed(tc.total, tc.subsets)
			if !errors.Is(err, tc.err) {
				t.Fatalf("err = %v, want %v", err, tc.err)
			}
			if d := cmp.Diff(tc.want, got.Replicas); d != "" {
				t.Error(d)
			}
			if (got.Reduced != "") != tc.reduced {
				t.Errorf("reduced = %q", got.Reduced)
			}
		})
	}
}

func TestMinMax(t *testing.T) {
	bounded := func(pairs ...*intstr.IntOrString) []Subset {
		var out []Subset
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, Subset{Name: string(rune('a' + i/2)), Min: pairs[i], Max: pairs[i+1]})
		}
		return out
	}
	five := bounded(num(2), num(5), num(2), num(5), num(2), num(5), num(2), num(5), num(2), nil)
	e2e := bounded(num(1), num(2), num(1), num(2), num(1), nil)
	for name, tc := range map[string]struct {
		total    int32
		subsets  []Subset
		want     []int32
		unplaced int32
		err      bool
	}{
		"minima":          {10, five, []int32{2, 2, 2, 2, 2}, 0, false},
		"one more":        {14, five, []int32{5, 3, 2, 2, 2}, 0, false},
		"too few":         {5, five, []int32{2, 2, 1, 0, 0}, 0, false},
		"e2e 3":           {3, e2e, []int32{1, 1, 1}, 0, false},
		"e2e 7":           {7, e2e, []int32{2, 2, 3}, 0, false},
		"e2e 1":           {1, e2e, []int32{1, 0, 0}, 0, false},
		"percentages":     {10, bounded(pct("25%"), pct("50%"), nil, nil), []int32{5, 5}, 0, false},
		"maxima too low":  {10, bounded(num(1), num(2), nil, num(3)), []int32{2, 3}, 5, false},
		"min above max":   {10, bounded(num(3), num(2)), nil, 0, true},
		"bad percentage":  {10, bounded(pct("101%"), nil), nil, 0, true},
		"negative number": {10, bounded(num(-1), nil), nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fixed(&tc.total, tc.subsets)
			if (err != nil) != tc.err {
				t.Fatalf("err = %v", err)
			}
			if tc.err {
				return
			}
			var list []int32
			for _, s := range tc.subsets {
				list = append(list, got.Replicas[s.Name])
			}
			if d := cmp.Diff(tc.want, list); d != "" {
				t.Error(d)
			}
			if got.Unplaced != tc.unplaced {
				t.Errorf("unplaced = %d, want %d", got.Unplaced, tc.unplaced)
			}
		})
	}
}

func TestParseRoundsHalfUp(t *testing.T) {
	for text, want := range map[string]int32{"0%": 0, "24%": 0, "25%": 1, "50%": 1, "75%": 2, "100%": 2} {
		if got, err := Parse(ptr.To[int32](2), intstr.FromString(text)); err != nil || got != want {
			t.Errorf("%s of 2 = %d, %v, want %d", text, got, err, want)
		}
	}
	if _, err := Parse(nil, intstr.FromString("10%")); err == nil {
		t.Error("a percentage of nothing was read")
	}
	if got, _ := Parse(ptr.To[int32](math.MaxInt32), intstr.FromString("100%")); got != math.MaxInt32 {
		t.Errorf("100%% of MaxInt32 = %d", got)
	}
}

// The sum is exact or an error says why; a second pass over its own output changes nothing.
func TestFixedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int32Range(0, 1000).Draw(t, "total")
		subsets := drawSubsets(t)
		got, err := Fixed(&total, subsets)
		if err != nil {
			return
		}
		sum := got.Unplaced
		for i := range subsets {
			n := got.Replicas[subsets[i].Name]
			if n < 0 {
				t.Fatalf("subset %s gets %d", subsets[i].Name, n)
			}
			sum += n
			subsets[i].Current = n
		}
		if sum != total {
			t.Fatalf("sum %d, total %d: %v", sum, total, got)
		}
		again, err := Fixed(&total, subsets)
		if err != nil || !cmp.Equal(got.Replicas, again.Replicas) {
			t.Fatalf("second pass moved: %v, then %v (%v)", got.Replicas, again.Replicas, err)
		}
	})
}

func drawSubsets(t *rapid.T) []Subset {
	bounded := rapid.Bool().Draw(t, "bounded")
	var out []Subset
	for i := range rapid.IntRange(1, 6).Draw(t, "count") {
		s := Subset{Name: string(rune('a' + i)), Current: rapid.Int32Range(0, 300).Draw(t, "current")}
		switch {
		case bounded:
			low := rapid.IntRange(0, 100).Draw(t, "min")
			s.Min, s.Max = num(low), num(low+rapid.IntRange(0, 100).Draw(t, "room"))
		case rapid.Bool().Draw(t, "says"):
			s.Replicas = num(rapid.IntRange(0, 200).Draw(t, "replicas"))
		}
		out = append(out, s)
	}
	return out
}
