// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podcount

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestPartition(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas  int
		partition string
		want      int
	}{
		"int": {4, "3", 3}, "above": {4, "9", 4}, "negative": {4, "-1", 0}, "all, as a number": {4, "4", 4},
		"99% of 4": {4, "99%", 3}, "99% of 3": {3, "99%", 2}, "50% of 1": {1, "50%", 1},
		"100%": {4, "100%", 4}, "1% of 3 keeps one": {3, "1%", 1}, "0%": {3, "0%", 0}, "12.5%": {16, "12.5%", 2},
		"fraction": {1000, "0.1%", 1}, "100.0% is not 100%": {4, "100.0%", 3}, "none": {0, "99%", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := intstr.Parse(tc.partition)
			if got, err := Partition(&v, tc.replicas); err != nil || got != tc.want {
				t.Errorf("partition %d, want %d (%v)", got, tc.want, err)
			}
		})
	}
	if got, err := Partition(nil, 4); got != 0 || err != nil {
		t.Error(got, err)
	}
}

func TestScaled(t *testing.T) {
	for name, tc := range map[string]struct {
		value    string
		down, up int
	}{
		"int": {"7", 7, 7}, "half of 5": {"50%", 2, 3}, "fraction": {"12.5%", 0, 1}, "noise": {"20.0000000001%", 1, 1}, "above": {"250%", 12, 13},
	} {
		t.Run(name, func(t *testing.T) {
			v := intstr.Parse(tc.value)
			down, err1 := Scaled(&v, 5, false)
			up, err2 := Scaled(&v, 5, true)
			if down != tc.down || up != tc.up || err1 != nil || err2 != nil {
				t.Error(down, up, err1, err2)
			}
		})
	}
	for _, text := range []string{"5", "x%", "", "NaN%", "Inf%"} {
		v := intstr.FromString(text)
		if got, err := Scaled(&v, 5, true); err == nil || got != 0 {
			t.Errorf("%q: %d", text, got)
		}
		if got, err := Partition(&v, 5); err == nil || got != 0 {
			t.Errorf("partition %q: %d", text, got)
		}
	}
}
