// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/flotilla-sh/flotilla/hub/share"
)

// draw makes a spread of up to four subsets, bounded by numbers or percentages or not at all.
func draw(t *rapid.T, percentages bool) string {
	spec := "{subsets: ["
	for i := range rapid.IntRange(1, 4).Draw(t, "subsets") {
		spec += fmt.Sprintf("{name: s%d, tolerations: [{key: k}]", i)
		if zone := rapid.SampledFrom([]string{"", "", "z0", "z1", "z2", "z9"}).Draw(t, "zone"); zone != "" {
			spec += ", " + in(zone)
		}
		if rapid.Bool().Draw(t, "bounded") {
			spec += fmt.Sprintf(", maxReplicas: %d", rapid.IntRange(0, 20).Draw(t, "max"))
			if percentages {
				spec += "%"
			}
		}
		spec += "}, "
	}
	return spec + "]}"
}

func drawClusters(t *rapid.T) (out []share.Cluster) {
	for i := range rapid.IntRange(1, 6).Draw(t, "clusters") {
		c := cluster(fmt.Sprint("m", i), rapid.SampledFrom([]string{"", "z0", "z1", "z2", "z0,z1", "z1,z2", "z0,z1,z2"}).Draw(t, "zones"))
		c.Weight = rapid.Int32Range(0, 4).Draw(t, "weight")
		out = append(out, c)
	}
	return out
}

func drawHeld(t *rapid.T, clusters []share.Cluster) share.Holdings {
	out := share.Holdings{"left": {"s0": rapid.Int32Range(0, 3).Draw(t, "left")}}
	for i := range clusters {
		held := map[string]int32{}
		for _, name := range []string{"", "s0", "s1", "s2", "old"} {
			if n := rapid.Int32Range(0, 6).Draw(t, "held"); n > 3 {
				held[name] = n
			}
		}
		out[clusters[i].Name] = held
		if rapid.IntRange(0, 4).Draw(t, "frozen") == 0 {
			clusters[i].Frozen = "out of reach"
		}
	}
	return out
}

func divide(t *rapid.T, spread *unstructured.Unstructured, req share.Request) share.Plan {
	plan, err := Divider{inner{}, spread}.Divide(req)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestFill: whatever is held, what is placed and what is short add up, bounds are kept, members that fill
// their subsets in order arrive at their shares, a pass over its own result changes nothing, and the order
// of clusters does not matter.
func TestFill(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		spread := spreading(outer, draw(t, rapid.Bool().Draw(t, "percentages")))
		replicas := rapid.Int32Range(0, 60).Draw(t, "replicas")
		req := request(cloneSet(outer, replicas), drawClusters(t)...)
		req.Held = drawHeld(t, req.Clusters)
		if rapid.Bool().Draw(t, "stuck") {
			req.Most = share.Holdings{"m0": {"s0": rapid.Int32Range(0, 4).Draw(t, "most"), "s1": 0}, "m1": {"s1": 2, "s2": 0}}
		}
		plan := divide(t, spread, req)
		check(t, plan, replicas)
		if n, bound := plan.Spread.Subsets[0].Shares["m0"], req.Most["m0"]; bound != nil && len(plan.Spread.Subsets) > 1 && n > bound["s0"] {
			t.Fatalf("%d replicas go where %d found a node", n, bound["s0"])
		}
		mixed := req
		mixed.Clusters = shuffled(req.Clusters, rapid.IntRange(0, 5).Draw(t, "from"))
		other := divide(t, spread, mixed)
		if d := cmp.Diff(plan.Spread, other.Spread); d != "" {
			t.Fatal("the order of clusters matters:", d)
		}
		hold(&req, plan)
		again := divide(t, spread, req)
		if d := cmp.Diff(show(plan), show(again)); d != "" || len(again.Moves) > 0 {
			t.Fatalf("another pass moves %v: %s", again.Moves, d)
		}
	})
}

func check(t *rapid.T, plan share.Plan, replicas int32) {
	placed := map[string]int32{}
	var total int32
	for _, s := range plan.Slices {
		for name, n := range s.Held {
			placed[name], total = placed[name]+n, total+n
		}
		if s.Split[0].Replicas != s.Replicas() {
			t.Fatalf("%s gets %d and holds %v", s.Cluster, s.Split[0].Replicas, s.Held)
		}
		checkArrives(t, s)
	}
	for _, s := range plan.Short {
		total += s.Replicas
	}
	if total != replicas {
		t.Fatalf("%d placed or short, %d wanted", total, replicas)
	}
	for _, s := range plan.Spread.Subsets {
		var bounds int32
		for cluster, n := range s.Bounds {
			if bounds += n; n < s.Shares[cluster] {
				t.Fatalf("subset %s in %s: bound %d is below %d", s.Name, cluster, n, s.Shares[cluster])
			}
		}
		if s.Most != nil && (placed[s.Name] > *s.Most || bounds > *s.Most) {
			t.Fatalf("subset %s: %d placed within %d, %d allowed", s.Name, placed[s.Name], bounds, *s.Most)
		}
	}
}

// checkArrives fills the member's own subsets in order.
func checkArrives(t *rapid.T, s share.Slice) {
	if len(s.Others) == 0 {
		return
	}
	rest, got := s.Replicas(), map[string]int32{}
	subsets, _, _ := unstructured.NestedSlice(s.Others[0].Object, "spec", "subsets")
	for _, one := range subsets {
		fields := one.(map[string]any)
		n := rest
		if most, bounded := fields["maxReplicas"].(int64); bounded {
			n = min(rest, int32(most))
		}
		got[fields["name"].(string)] = n
		rest -= n
	}
	if rest > 0 {
		got[share.Whole] = rest
	}
	if d := cmp.Diff(s.Held, got); d != "" {
		t.Fatalf("%s arrives elsewhere: %s", s.Cluster, d)
	}
}

// TestGrowAndShrink: from a division at rest, more replicas lower no share, and fewer raise none and
// empty the last subsets first.
func TestGrowAndShrink(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		spread := spreading(outer, draw(t, false))
		few := rapid.Int32Range(0, 60).Draw(t, "few")
		more := few + rapid.Int32Range(0, 30).Draw(t, "more")
		clusters := drawClusters(t)
		small := request(cloneSet(outer, few), clusters...)
		before := divide(t, spread, small)
		large := request(cloneSet(outer, more), clusters...)
		hold(&large, before)
		grown := divide(t, spread, large)
		noneLower(t, before, grown)
		hold(&small, grown)
		shrunk := divide(t, spread, small)
		noneLower(t, shrunk, grown)
		lastFirst(t, grown, shrunk)
	})
}

// noneLower: no share, and so no subset, has fewer replicas in the larger plan.
func noneLower(t *rapid.T, small, large share.Plan) {
	in := share.Holdings{}
	for _, s := range large.Slices {
		in[s.Cluster] = s.Held
	}
	for _, s := range small.Slices {
		for name, n := range s.Held {
			if in[s.Cluster][name] < n {
				t.Fatalf("subset %q of %s: %d of fewer, %d of more replicas", name, s.Cluster, n, in[s.Cluster][name])
			}
		}
	}
}

func lastFirst(t *rapid.T, before, after share.Plan) {
	lowered := false
	for i, s := range after.Spread.Subsets {
		old, now := sumOf(before.Spread.Subsets[i].Shares), sumOf(s.Shares)
		if lowered && now > 0 {
			t.Fatalf("subset %s keeps %d while an earlier one was lowered", s.Name, now)
		}
		lowered = lowered || now < old
	}
}

func sumOf(shares map[string]int32) (total int32) {
	for _, n := range shares {
		total += n
	}
	return total
}

// TestOneCluster: with one cluster the numbers are those of a WorkloadSpread in that cluster alone: each
// subset takes what is left up to its bound, and the member's bounds are the spec's.
func TestOneCluster(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		spread := spreading(outer, draw(t, rapid.Bool().Draw(t, "percentages")))
		replicas := rapid.Int32Range(0, 60).Draw(t, "replicas")
		plan := divide(t, spread, request(cloneSet(outer, replicas), cluster("only", "z0,z1,z2,z9,other")))
		rest := replicas
		subsets, _, _ := unstructured.NestedSlice(spread.Object, "spec", "subsets")
		copied, _, _ := unstructured.NestedSlice(plan.Slices[0].Others[0].Object, "spec", "subsets")
		for i, raw := range subsets {
			fields, want := raw.(map[string]any), any(nil)
			n := rest
			switch most := fields["maxReplicas"].(type) {
			case int64:
				want = most
			case string:
				var percent int64
				_, _ = fmt.Sscanf(most, "%d%%", &percent)
				want = (percent*int64(replicas) + 99) / 100
			}
			if most, bounded := want.(int64); bounded {
				n = min(rest, int32(most))
			}
			rest -= n
			if got := plan.Slices[0].Held[fields["name"].(string)]; got != n {
				t.Fatalf("subset %d has %d, alone it has %d", i, got, n)
			}
			if got := copied[i].(map[string]any)["maxReplicas"]; got != want {
				t.Fatalf("subset %d takes %v, alone it takes %v", i, got, want)
			}
		}
		if got := plan.Slices[0].Held[share.Whole]; got != rest {
			t.Fatalf("%d in no subset, alone %d", got, rest)
		}
	})
}
