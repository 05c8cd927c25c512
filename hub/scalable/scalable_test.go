// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package scalable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func clone(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return object(t, "{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: web, namespace: shop, uid: u, generation: 3}, spec: "+spec+"}")
}

func request(target *unstructured.Unstructured, names ...string) share.Request {
	req := share.Request{Target: target, Mode: fleetv1alpha1.DivisionDivided, Held: share.Holdings{}, Left: map[string]string{}}
	for _, n := range names {
		req.Clusters = append(req.Clusters, share.Cluster{Selected: placement.Selected{Cluster: placement.Cluster{Name: n}}, Weight: 1, Object: target})
	}
	return req
}

func show(p share.Plan) (out []string) {
	for _, s := range p.Slices {
		line := s.Cluster + ":"
		for _, part := range s.Split {
			line += fmt.Sprint(" ", part.Replicas)
		}
		for _, part := range s.Partitions {
			line += fmt.Sprint(" @", part.Partition)
		}
		spec, _, _ := unstructured.NestedMap(s.Object.Object, "spec")
		out = append(out, fmt.Sprint(line, " ", spec))
	}
	return out
}

func TestDivide(t *testing.T) {
	for name, tc := range map[string]struct {
		target *unstructured.Unstructured
		change func(*share.Request)
		want   []string
		total  share.Subset
		short  string
	}{
		"without replicas it is one": {clone(t, "{}"), nil, []string{"a: 1 map[]", "b: 0 map[]"}, share.Subset{Replicas: 1}, ""},
		"weights": {clone(t, "{replicas: 15}"), func(r *share.Request) { r.Clusters[0].Weight = 2 },
			[]string{"a: 10 map[]", "b: 5 map[]"}, share.Subset{Replicas: 15}, ""},
		"partition: 9 of 10 and 5": {clone(t, "{replicas: 15, updateStrategy: {rollingUpdate: {partition: 9, maxSurge: 1}}}"), func(r *share.Request) { r.Clusters[0].Weight = 2 },
			[]string{"a: 10 @6 map[updateStrategy:map[rollingUpdate:map[maxSurge:1]]]", "b: 5 @3 map[updateStrategy:map[rollingUpdate:map[maxSurge:1]]]"}, share.Subset{Replicas: 15, Partition: 9}, ""},
		"partition in percent, rounded up": {clone(t, "{replicas: 3, updateStrategy: {rollingUpdate: {partition: 50%}}}"), nil,
			[]string{"a: 2 @1 map[updateStrategy:map[rollingUpdate:map[]]]", "b: 1 @1 map[updateStrategy:map[rollingUpdate:map[]]]"}, share.Subset{Replicas: 3, Partition: 2}, ""},
		"partition in percent leaves one to update": {clone(t, "{replicas: 3, updateStrategy: {rollingUpdate: {partition: 99%}}}"), nil,
			[]string{"a: 2 @1 map[updateStrategy:map[rollingUpdate:map[]]]", "b: 1 @1 map[updateStrategy:map[rollingUpdate:map[]]]"}, share.Subset{Replicas: 3, Partition: 2}, ""},
		"partition in fractions of a percent": {clone(t, "{replicas: 16, updateStrategy: {rollingUpdate: {partition: 12.5%}}}"), nil,
			[]string{"a: 8 @1 map[updateStrategy:map[rollingUpdate:map[]]]", "b: 8 @1 map[updateStrategy:map[rollingUpdate:map[]]]"}, share.Subset{Replicas: 16, Partition: 2}, ""},
		"copies": {clone(t, "{replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}"), func(r *share.Request) { r.Mode = fleetv1alpha1.DivisionDuplicated },
			[]string{"a: 3 @2 map[updateStrategy:map[rollingUpdate:map[]]]", "b: 3 @2 map[updateStrategy:map[rollingUpdate:map[]]]"}, share.Subset{Replicas: 6, Partition: 4}, ""},
		"frozen and left": {clone(t, "{replicas: 9}"), func(r *share.Request) {
			r.Held = share.Holdings{"a": {"": 2}, "gone": {"": 5}}
			r.Left["gone"] = "no longer selected"
			r.Clusters[0].Frozen, r.Clusters[1].Frozen = "out of reach", "out of reach"
		}, []string{"a: 2 map[]", "b: 0 map[]"}, share.Subset{Replicas: 2}, "7 replicas have no place: a has 2 (out of reach), b has 0 (out of reach)"},
		"no cluster": {clone(t, "{replicas: 9}"), func(r *share.Request) { r.Clusters = nil }, nil, share.Subset{}, "9 replicas have no place: no cluster is selected"},
		"a Deployment has no partition": {object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2, strategy: {type: Recreate}}}"), nil,
			[]string{"a: 1 map[strategy:map[type:Recreate]]", "b: 1 map[strategy:map[type:Recreate]]"}, share.Subset{Replicas: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(tc.target, "a", "b")
			if tc.change != nil {
				tc.change(&req)
			}
			before := tc.target.DeepCopy()
			got, err := Divider{}.Divide(req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, show(got)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]share.Subset{tc.total}, got.Subsets); d != "" {
				t.Error(d)
			}
			if short := fmt.Sprint(got.Short); tc.short != strings.Trim(short, "[]") {
				t.Error(short)
			}
			if d := cmp.Diff(before, tc.target); d != "" {
				t.Errorf("the target changed: %s", d)
			}
		})
	}
}

// TestPodsToDelete: what the member's controller writes to is not the hub's.
func TestPodsToDelete(t *testing.T) {
	for name, tc := range map[string]struct {
		target *unstructured.Unstructured
		want   string
		notes  int
	}{
		"with more": {clone(t, "{scaleStrategy: {podsToDelete: [web-a], maxUnavailable: 1}}"), "a: 1 map[scaleStrategy:map[maxUnavailable:1]]", 1},
		"alone":     {clone(t, "{scaleStrategy: {podsToDelete: [web-a]}}"), "a: 1 map[]", 1},
		"empty":     {clone(t, "{scaleStrategy: {podsToDelete: [], maxUnavailable: 1}}"), "a: 1 map[scaleStrategy:map[maxUnavailable:1]]", 0},
		"another kind": {object(t, "{apiVersion: example.com/v1, kind: Other, metadata: {name: o}, spec: {scaleStrategy: {podsToDelete: [web-a]}}}"),
			"a: 1 map[scaleStrategy:map[podsToDelete:[web-a]]]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.target.DeepCopy()
			plan, err := Divider{}.Divide(request(tc.target, "a"))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{tc.want}, show(plan)); d != "" || len(plan.Notes) != tc.notes {
				t.Error(plan.Notes, d)
			}
			if d := cmp.Diff(before, tc.target); d != "" {
				t.Errorf("the target changed: %s", d)
			}
		})
	}
}

func TestDivideRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"negative":     {"{replicas: -1}", "spec.replicas: "},
		"no number":    {"{replicas: many}", "spec.replicas: "},
		"no percent":   {"{updateStrategy: {rollingUpdate: {partition: x}}}", "spec.updateStrategy.rollingUpdate.partition: "},
		"no partition": {"{updateStrategy: {rollingUpdate: {partition: {}}}}", "spec.updateStrategy.rollingUpdate.partition: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Divider{}.Divide(request(clone(t, tc.spec), "a"))
			var problem share.Problem
			if !errors.As(err, &problem) || problem.Reason != fleetv1alpha1.ReasonInvalidTarget || !strings.HasPrefix(problem.Message, tc.want) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	target := clone(t, "{replicas: 5, selector: {matchLabels: {app: web}}}")
	target.Object["status"] = map[string]any{"currentRevision": "web-1", "replicas": int64(9)}
	counters := func(n int32) map[string]fleetv1alpha1.SubsetCounters {
		return map[string]fleetv1alpha1.SubsetCounters{"": {Replicas: n, ReadyReplicas: n, UpdatedReplicas: n, UpdatedReadyReplicas: n, UnavailableReplicas: 0}}
	}
	summary := share.Summary{
		Plan: &share.Plan{Revision: "web-2", Subsets: []share.Subset{{Replicas: 5, Partition: 1}}}, Observed: true, Now: metav1.Unix(0, 0),
		Reports:    []share.Report{{Counters: counters(3)}, {Counters: counters(2)}},
		Conditions: []metav1.Condition{{Type: "FleetPlaced", Status: "True", Reason: "Placed"}},
	}
	got, err := Divider{}.Status(target, summary)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"observedGeneration": int64(3), "replicas": int64(5), "readyReplicas": int64(5), "availableReplicas": int64(5), "updatedReplicas": int64(5),
		"updatedReadyReplicas": int64(5), "expectedUpdatedReplicas": int64(4), "updateRevision": "web-2", "currentRevision": "web-2", "labelSelector": "app=web",
		"conditions": []any{map[string]any{"type": "FleetPlaced", "status": "True", "reason": "Placed", "lastTransitionTime": "1970-01-01T00:00:00Z"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if none, err := (Divider{}).Status(object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}"), summary); none != nil || err != nil {
		t.Error(none, err)
	}
}
