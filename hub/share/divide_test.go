// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/split"
)

func TestBuckets(t *testing.T) {
	named := func(name, frozen string) Cluster {
		return Cluster{Selected: placement.Selected{Cluster: placement.Cluster{Name: name}, Frozen: frozen}, Weight: 3}
	}
	r := Request{
		Clusters: []Cluster{named("open", ""), named("frozen", "out of reach"), named("kept", "out of reach"), named("out", ""), named("never", "")},
		Held:     Holdings{"frozen": {"a": 2}, "kept": {"a": 3}, "out": {"a": 4}, "left": {"a": 5}, "other": {"b": 1}},
		Left:     map[string]string{"left": "no longer selected"},
	}
	limits := map[string]Limit{"kept": {Why: "zones unknown"}, "out": {Out: true, Why: "elsewhere"}, "never": {Out: true, Why: "elsewhere"}}
	got := r.Buckets("a", func(c Cluster) Limit { return limits[c.Name] })
	want := []split.Bucket{
		{Name: "open", Weight: 3, Hi: split.Unbounded},
		{Name: "frozen", Weight: 3, Hi: 2, Current: 2, Why: "out of reach"},
		{Name: "kept", Weight: 3, Hi: 3, Current: 3, Why: "zones unknown"},
		{Name: "out", Weight: 3, Current: 4, Why: "elsewhere"},
		{Name: "left", Current: 5, Why: "no longer selected"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if free := r.Buckets("b", nil); len(free) != 6 || free[2].Hi != 0 || free[3].Hi != split.Unbounded || free[5].Name != "other" {
		t.Error(free)
	}
}

func TestInProportion(t *testing.T) {
	r := Request{Target: workload(1, "x")}
	got := r.InProportion("partition", 6, map[string]int32{"a": 6, "b": 3, "c": 0})
	if d := cmp.Diff(map[string]int32{"a": 4, "b": 2, "c": 0}, got); d != "" {
		t.Error(d)
	}
}
