// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

func steps(list []request) []string {
	var out []string
	for _, r := range list {
		if r.clear != nil {
			out = append(out, "clear "+strings.Join(r.clear, "."))
			continue
		}
		out = append(out, r.owner+" "+brief(r.object))
	}
	return out
}

func TestCreateSequence(t *testing.T) {
	type n = map[string]int32
	for name, tc := range map[string]struct {
		target *target
		want   []string
	}{
		"whole copy": {only(t, sliceWith(t, deploymentText, nil, nil)), []string{`fleet-template {"paused":false,"replicas":7}`}},
		"divided": {only(t, sliceWith(t, deploymentText, n{"": 2}, nil)), []string{
			`fleet-template {"paused":false,"replicas":2}`, `fleet-split {"replicas":2}`, `fleet-template {"paused":false}`}},
		"with partition": {only(t, sliceWith(t, cloneSetText, n{"": 2}, n{"": 1})), []string{
			`fleet-template {"replicas":2,"updateStrategy":{"rollingUpdate":{"maxSurge":1,"partition":1}}}`, `fleet-split {"replicas":2}`,
			`fleet-rollout {"updateStrategy":{"rollingUpdate":{"partition":1}}}`, `fleet-template {"updateStrategy":{"rollingUpdate":{"maxSurge":1}}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, steps(tc.target.create())); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUpdateSequence(t *testing.T) {
	type n = map[string]int32
	acd := strings.ReplaceAll(udText, "name: b,", "name: c,")
	live := func(split, partitions n) *unstructured.Unstructured {
		return only(t, sliceWith(t, udText, split, partitions)).whole()
	}
	released := live(n{"a": 3, "b": 2}, n{"a": 2, "b": 1})
	released.SetManagedFields(managed("fleet-split", "fleet-rollout"))
	for name, tc := range map[string]struct {
		target *target
		live   *unstructured.Unstructured
		holds  bool
		want   []string
	}{
		"numbers only": {only(t, sliceWith(t, udText, n{"a": 5, "b": 2}, n{"a": 1})), live(n{"a": 3, "b": 2}, n{"a": 2}), true, []string{
			`fleet-template {"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…"},{"name":"b","nodeSelectorTerm":"…"}]}}`,
			`fleet-split {"replicas":7,"topology":{"subsets":[{"name":"a","replicas":5},{"name":"b","replicas":2}]}}`,
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":1}}}}`}},
		"template: partitions are not lowered before it": {only(t, sliceWith(t, udText, n{"a": 3, "b": 2}, n{"a": 0, "b": 2})), live(n{"a": 3, "b": 2}, n{"a": 3, "b": 1}), false, []string{
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":3,"b":2}}}}`,
			`fleet-split {"replicas":5,"topology":{"subsets":[{"name":"a","replicas":3},{"name":"b","replicas":2}]}}`,
			`fleet-template {"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…"},{"name":"b","nodeSelectorTerm":"…"}]}}`,
			`fleet-split {"replicas":5,"topology":{"subsets":[{"name":"a","replicas":3},{"name":"b","replicas":2}]}}`,
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":0,"b":2}}}}`}},
		"one subset goes and one comes": {only(t, sliceWith(t, acd, n{"a": 4, "c": 1}, n{"a": 1, "c": 1})), live(n{"a": 3, "b": 2}, n{"a": 1, "b": 1}), false, []string{
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":1}}}}`,
			`fleet-split {"replicas":4,"topology":{"subsets":[{"name":"a","replicas":4}]}}`,
			`fleet-template {"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…"},{"name":"c","nodeSelectorTerm":"…"}]}}`,
			`fleet-split {"replicas":5,"topology":{"subsets":[{"name":"a","replicas":4},{"name":"c","replicas":1}]}}`,
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":1,"c":1}}}}`}},
		"becomes a whole copy: owners of numbers let go": {only(t, sliceWith(t, acd, nil, nil)), released, false, []string{
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":2}}}}`,
			`fleet-split {"replicas":3,"topology":{"subsets":[{"name":"a","replicas":3}]}}`,
			`fleet-template {"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…"},{"name":"c","nodeSelectorTerm":"…"}]}}`,
			`fleet-split null`, `clear spec.updateStrategy.manualUpdate.partitions`, `fleet-rollout null`}},
		"the partition of a subset that stays is held until the template is there": {only(t, sliceWith(t, acd, n{"a": 3, "c": 2}, n{"c": 1})), live(n{"a": 3, "b": 2}, n{"a": 2, "b": 1}), false, []string{
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"a":2}}}}`,
			`fleet-split {"replicas":3,"topology":{"subsets":[{"name":"a","replicas":3}]}}`,
			`fleet-template {"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…"},{"name":"c","nodeSelectorTerm":"…"}]}}`,
			`fleet-split {"replicas":5,"topology":{"subsets":[{"name":"a","replicas":3},{"name":"c","replicas":2}]}}`,
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"c":1}}}}`}},
		"the only partition goes with its subset": {only(t, sliceWith(t, acd, n{"a": 3, "c": 2}, n{"c": 1})), live(n{"a": 3, "b": 2}, n{"b": 1}), false, []string{
			`clear spec.updateStrategy.manualUpdate.partitions`, `fleet-rollout null`,
			`fleet-split {"replicas":3,"topology":{"subsets":[{"name":"a","replicas":3}]}}`,
			`fleet-template {"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…"},{"name":"c","nodeSelectorTerm":"…"}]}}`,
			`fleet-split {"replicas":5,"topology":{"subsets":[{"name":"a","replicas":3},{"name":"c","replicas":2}]}}`,
			`fleet-rollout {"updateStrategy":{"manualUpdate":{"partitions":{"c":1}}}}`}},
		"whole copy at rest": {only(t, sliceWith(t, deploymentText, nil, nil)), parse(t, deploymentText), true, []string{`fleet-template {"paused":false,"replicas":7}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, steps(tc.target.update(tc.live, tc.holds))); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever changes at once: at every step every subset has its selector and the numbers add up, no
// partition is below the one in force before its template is there, a sequence that is cut off ends
// the same when it is begun anew, and the end is the whole.
func TestUpdateSequenceProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &merged{}
		from, to := drawTarget(rt, t, "from"), drawTarget(rt, t, "to")
		var live *unstructured.Unstructured
		for _, r := range from.create() {
			live = m.send(r)
			check(rt, live)
		}
		before := livePartitions(live)
		cutOff := rapid.IntRange(0, 5).Draw(rt, "cut off after")
		for i, r := range to.update(live, false) {
			if i == cutOff {
				break
			}
			live = m.send(r)
			check(rt, live)
			if r.clear == nil && imageOf(live) == imageOf(from.base) && imageOf(from.base) != imageOf(to.base) {
				for name, n := range livePartitions(live) {
					if n < before[name] {
						rt.Fatalf("partition of %s is %d, was %d, and the template is the old one", name, n, before[name])
					}
				}
			}
		}
		for _, r := range to.update(live, false) {
			live = m.send(r)
			check(rt, live)
		}
		if d := cmp.Diff(brief(to.whole()), brief(live)); d != "" || imageOf(live) != imageOf(to.base) {
			rt.Fatalf("ends at another object: %s", d)
		}
	})
}

func drawTarget(rt *rapid.T, t *testing.T, label string) *target {
	split, partitions := map[string]int32{}, map[string]int32{}
	text, _, _ := strings.Cut(udText, "    - {name: a")
	for _, name := range []string{"a", "b", "c", "d"} {
		if name != "a" && !rapid.Bool().Draw(rt, label+" has "+name) {
			continue
		}
		text += "    - {name: " + name + ", nodeSelectorTerm: {matchExpressions: [{key: zone, operator: Exists}]}}\n"
		split[name] = rapid.Int32Range(0, 9).Draw(rt, label+" replicas")
		if rapid.Bool().Draw(rt, label+" says partition") {
			partitions[name] = rapid.Int32Range(0, 9).Draw(rt, label+" partition")
		}
	}
	image := rapid.SampledFrom([]string{"web:v1", "web:v2"}).Draw(rt, label+" image")
	return only(t, sliceWith(t, strings.ReplaceAll(text, "web:v1", image), split, partitions))
}

func imageOf(obj *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "cloneSetTemplate", "spec", "template", "spec", "containers")
	return list[0].(map[string]any)["image"].(string)
}

func check(rt *rapid.T, obj *unstructured.Unstructured) {
	var sum int64
	open := false
	for _, item := range subsetItems(obj) {
		if item["nodeSelectorTerm"] == nil {
			rt.Fatalf("subset %v has no selector: %s", item["name"], brief(obj))
		}
		n, said := item["replicas"].(int64)
		sum += n
		open = open || !said
	}
	total := number(obj, "spec", "replicas")
	if sum > total || (!open && sum != total) {
		rt.Fatalf("the subsets' %d are not the total %d: %s", sum, total, brief(obj))
	}
	names := subsetNames(obj)
	for name := range livePartitions(obj) {
		if !names[name] {
			rt.Fatalf("a partition of subset %s, which is not there: %s", name, brief(obj))
		}
	}
}
