// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/allocate"
)

// draw makes a spec with up to four subsets: with fixed numbers, bounds, or bounds and Adaptive.
func draw(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"fixed", "bounded", "adaptive"}).Draw(t, "kind")
	spec := fmt.Sprintf("{replicas: %d, topology: {", rapid.IntRange(0, 60).Draw(t, "replicas"))
	if kind == "adaptive" {
		spec += "scheduleStrategy: {type: Adaptive}, "
	}
	spec += "subsets: ["
	for i := range rapid.IntRange(1, 4).Draw(t, "subsets") {
		spec += fmt.Sprintf("{name: s%d", i)
		if region := rapid.SampledFrom([]string{"", "", "r0", "r1"}).Draw(t, "region"); region != "" {
			spec += ", nodeSelectorTerm: {matchExpressions: [{key: topology.kubernetes.io/region, operator: In, values: [" + region + "]}]}"
		}
		if kind == "fixed" && rapid.Bool().Draw(t, "says") {
			spec += fmt.Sprintf(", replicas: %d", rapid.IntRange(0, 20).Draw(t, "n"))
		}
		if low := rapid.IntRange(0, 8).Draw(t, "min"); kind != "fixed" {
			spec += fmt.Sprintf(", minReplicas: %d", low)
			if rapid.Bool().Draw(t, "has max") {
				spec += fmt.Sprintf(", maxReplicas: %d", low+rapid.IntRange(0, 20).Draw(t, "room"))
			}
		}
		spec += "}, "
	}
	return spec + "]}}"
}

func drawClusters(t *rapid.T) []share.Cluster {
	var out []share.Cluster
	for i := range rapid.IntRange(1, 6).Draw(t, "clusters") {
		c := cluster(fmt.Sprint("m", i), fmt.Sprint("r", i%3), "")
		c.Weight = rapid.Int32Range(0, 4).Draw(t, "weight")
		out = append(out, c)
	}
	return out
}

// TestPlanProperties: what is planned and what is short add up to spec.replicas; slices and subsets tell
// the same numbers; a pass over its own result moves nothing; and a member that follows its own rules
// arrives at its share of every subset. When some subset is short, the next pass may give its remainder
// to a subset with room, as the Specific rule favours larger subsets: then it is at rest.
func TestPlanProperties(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		target := united(outer, draw(t))
		req := request(target, drawClusters(t)...)
		plan, err := Divider{}.Divide(req)
		if err != nil {
			return // fixed numbers that do not add up
		}
		checkSums(t, target, plan)
		again := follow(t, &req, plan)
		if len(plan.Short) > 0 {
			checkSums(t, target, again)
			plan, again = again, follow(t, &req, again)
		}
		if d := cmp.Diff(show(plan), show(again)); d != "" || len(again.Moves) > 0 {
			t.Fatalf("another pass moves %v: %s", again.Moves, d)
		}
	})
}

// follow lets the clusters hold what the plan gives them, and plans again.
func follow(t *rapid.T, req *share.Request, plan share.Plan) share.Plan {
	req.Held = share.Holdings{}
	for _, s := range plan.Slices {
		req.Held[s.Cluster] = s.Held
		checkMemberArrives(t, s)
	}
	again, err := Divider{}.Divide(*req)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func checkSums(t *rapid.T, target *unstructured.Unstructured, plan share.Plan) {
	replicas, _, _ := unstructured.NestedInt64(target.Object, "spec", "replicas")
	total := int64(plan.Replicas())
	for _, s := range plan.Short {
		total += int64(s.Replicas)
	}
	if total != replicas {
		t.Fatalf("%d placed or short, %d wanted", total, replicas)
	}
	for _, subset := range plan.Subsets {
		var sum int32
		for _, s := range plan.Slices {
			sum += s.Held[subset.Name]
		}
		if sum != subset.Replicas {
			t.Fatalf("slices hold %d of subset %s, the plan says %d", sum, subset.Name, subset.Replicas)
		}
	}
}

// checkMemberArrives puts the slice's numbers into the member's object, as its agent does, and runs the
// member's own allocation.
func checkMemberArrives(t *rapid.T, s share.Slice) {
	member := s.Object.DeepCopy()
	spec := member.Object["spec"].(map[string]any)
	spec["replicas"] = int64(s.Replicas())
	numbers := map[string]int32{}
	for _, part := range s.Split {
		numbers[part.Subset] = part.Replicas
	}
	for _, raw := range spec["topology"].(map[string]any)["subsets"].([]any) {
		fields := raw.(map[string]any)
		if n, ok := numbers[fields["name"].(string)]; ok {
			fields["replicas"] = int64(n)
		}
	}
	read, err := specOf(member)
	if err != nil {
		t.Fatal(err)
	}
	rule := allocate.Fixed
	if isAdaptive(read) {
		rule = allocate.MinMax
	}
	got, err := rule(read.Replicas, rulesOf(read, share.Holdings{}))
	if err != nil {
		t.Fatalf("the member refuses its share: %v", err)
	}
	if d := cmp.Diff(s.Held, got.Replicas); d != "" {
		t.Fatalf("the member arrives elsewhere: %s\n%v", d, spec)
	}
}

// TestOneClusterEqualsNoFleet: over any sequence of changes, a fleet of one cluster gives each subset
// exactly what the object gets in a single cluster.
func TestOneClusterEqualsNoFleet(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		alone, held := share.Holdings{"": {}}, share.Holdings{}
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			target := united(outer, draw(t))
			c := cluster("only", "r0", "")
			req := request(target, c)
			req.Held = held
			for i := range req.Clusters { // every subset matches the one cluster
				subsets, _, _ := unstructured.NestedSlice(target.Object, "spec", "topology", "subsets")
				for _, s := range subsets {
					delete(s.(map[string]any), "nodeSelectorTerm")
				}
				_ = unstructured.SetNestedSlice(target.Object, subsets, "spec", "topology", "subsets")
				req.Clusters[i].Object = target
			}
			plan, err := Divider{}.Divide(req)
			spec, _ := specOf(target)
			rule := allocate.Fixed
			if isAdaptive(spec) {
				rule = allocate.MinMax
			}
			want, wantErr := rule(spec.Replicas, rulesOf(spec, alone))
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("fleet: %v, alone: %v", err, wantErr)
			}
			if err != nil {
				continue
			}
			if d := cmp.Diff(want.Replicas, plan.Slices[0].Held); d != "" {
				t.Fatal(d)
			}
			alone[""], held["only"] = want.Replicas, plan.Slices[0].Held
		}
	})
}
