// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/yaml"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
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

// united makes a UnitedDeployment whose spec, apart from the template, is given in YAML flow style.
func united(t testing.TB, spec string) *unstructured.Unstructured {
	t.Helper()
	u := object(t, `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, namespace: shop, uid: uid-1, generation: 7}
spec: `+spec)
	template := map[string]any{"cloneSetTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{}}}}
	u.Object["spec"].(map[string]any)["template"] = template
	u.Object["spec"].(map[string]any)["selector"] = map[string]any{"matchLabels": map[string]any{"app": "web"}}
	return u
}

// cluster makes a chosen cluster of weight 1 with claims.
func cluster(name, region, zones string) share.Cluster {
	mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	mc.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "region", Value: region}, {Name: "zones", Value: zones}}
	return share.Cluster{Selected: placement.Selected{Cluster: placement.FromManagedCluster(mc)}, Weight: 1}
}

func request(target *unstructured.Unstructured, clusters ...share.Cluster) share.Request {
	for i := range clusters {
		clusters[i].Object = target
	}
	return share.Request{Target: target, Mode: fleetv1alpha1.DivisionDivided, Clusters: clusters, Held: share.Holdings{}}
}

// show prints a plan's slices: cluster, split, partitions and the member's subsets.
func show(p share.Plan) []string {
	var out []string
	for _, s := range p.Slices {
		line := s.Cluster + ":"
		for _, part := range s.Split {
			line += fmt.Sprintf(" %s=%d", part.Subset, part.Replicas)
		}
		for _, part := range s.Partitions {
			line += fmt.Sprintf(" %s@%d", part.Subset, part.Partition)
		}
		subsets, _, _ := unstructured.NestedSlice(s.Object.Object, "spec", "topology", "subsets")
		data, _ := json.Marshal(subsets)
		out = append(out, line+" "+string(data))
	}
	return out
}

const euUs = `{key: topology.kubernetes.io/region, operator: In, values: [eu]}`

func TestDivide(t *testing.T) {
	eu, us := cluster("m1", "eu", "eu-a,eu-b"), cluster("m2", "us", "us-a")
	for name, tc := range map[string]struct {
		spec    string
		change  func(*share.Request)
		want    []string
		subsets []share.Subset
		short   []string
		notes   int
	}{
		"no keys: everywhere": {
			spec:    "{replicas: 5, topology: {subsets: [{name: a}]}}",
			want:    []string{`m1: a=3 [{"name":"a"}]`, `m2: a=2 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 5}},
		},
		"by region, fixed": {
			spec: "{replicas: 5, topology: {subsets: [{name: eu, replicas: 3, nodeSelectorTerm: {matchExpressions: [" + euUs + "]}}, {name: any, tolerations: [{operator: Exists}]}]}}",
			want: []string{
				`m1: eu=3 any=1 [{"name":"eu"},{"name":"any","tolerations":[{"operator":"Exists"}]}]`,
				`m2: any=1 [{"name":"any","tolerations":[{"operator":"Exists"}]}]`,
			},
			subsets: []share.Subset{{Name: "eu", Replicas: 3}, {Name: "any", Replicas: 2}},
		},
		"zones narrowed, cluster key removed, other keys pass": {
			spec: "{replicas: 2, topology: {subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [eu-a, us-a]}, {key: fleet.kruise.io/cluster, operator: Exists}, {key: gpu, operator: Exists}]}}]}}",
			want: []string{
				`m1: a=1 [{"name":"a","nodeSelectorTerm":{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["eu-a"]},{"key":"gpu","operator":"Exists"}]}}]`,
				`m2: a=1 [{"name":"a","nodeSelectorTerm":{"matchExpressions":[{"key":"gpu","operator":"Exists"}]}}]`,
			},
			subsets: []share.Subset{{Name: "a", Replicas: 2}},
		},
		"min and max become numbers": {
			spec:    "{replicas: 7, topology: {subsets: [{name: a, minReplicas: 1, maxReplicas: 2}, {name: b, minReplicas: 1, maxReplicas: 2}, {name: c, minReplicas: 1}]}}",
			want:    []string{`m1: a=1 b=1 c=1 [{"name":"a"},{"name":"b"},{"name":"c"}]`, `m2: a=1 b=1 c=2 [{"name":"a"},{"name":"b"},{"name":"c"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}, {Name: "c", Replicas: 3}},
		},
		"adaptive keeps its part of the bounds": {
			spec:    "{replicas: 10, topology: {scheduleStrategy: {type: Adaptive}, subsets: [{name: a, maxReplicas: 4}, {name: b, minReplicas: 1, maxReplicas: 8}, {name: c, minReplicas: 2}]}}",
			want:    []string{`m1: =5 [{"maxReplicas":2,"minReplicas":0,"name":"a"},{"maxReplicas":4,"minReplicas":0,"name":"b"},{"minReplicas":1,"name":"c"}]`, `m2: =5 [{"maxReplicas":2,"minReplicas":0,"name":"a"},{"maxReplicas":4,"minReplicas":1,"name":"b"},{"minReplicas":1,"name":"c"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 4}, {Name: "b", Replicas: 4}, {Name: "c", Replicas: 2}},
		},
		"partitions in proportion": {
			spec: "{replicas: 9, updateStrategy: {manualUpdate: {partitions: {a: 6}}}, topology: {subsets: [{name: a}]}}",
			change: func(r *share.Request) {
				r.Clusters[0].Weight = 2
			},
			want:    []string{`m1: a=6 a@4 [{"name":"a"}]`, `m2: a=3 a@2 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 9, Partition: 6}},
		},
		"partition above the replicas": {
			spec:    "{replicas: 3, updateStrategy: {manualUpdate: {partitions: {a: 60}}}, topology: {subsets: [{name: a}]}}",
			want:    []string{`m1: a=2 a@2 [{"name":"a"}]`, `m2: a=1 a@1 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 3, Partition: 3}},
		},
		"nothing matches": {
			spec:    "{replicas: 3, topology: {subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [{key: fleet.kruise.io/cluster, operator: In, values: [m9]}]}}]}}",
			subsets: []share.Subset{{Name: "a"}},
			short:   []string{"3 replicas of subset a have no place: no selected cluster matches: m1: fleet.kruise.io/cluster is m1, wanted In (m9); m2: fleet.kruise.io/cluster is m2, wanted In (m9)"},
		},
		"frozen cluster gets no more": {
			spec: "{replicas: 9, topology: {subsets: [{name: a}]}}",
			change: func(r *share.Request) {
				r.Held = share.Holdings{"m1": {"a": 3}, "m2": {"a": 2}}
				r.Clusters[0].Frozen = "out of reach"
			},
			want:    []string{`m1: a=3 [{"name":"a"}]`, `m2: a=6 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 9}},
		},
		"all frozen": {
			spec: "{replicas: 9, topology: {subsets: [{name: a}]}}",
			change: func(r *share.Request) {
				r.Held = share.Holdings{"m1": {"a": 3}, "m2": {"a": 2}}
				r.Clusters[0].Frozen, r.Clusters[1].Frozen = "out of reach", "out of reach"
			},
			want:    []string{`m1: a=3 [{"name":"a"}]`, `m2: a=2 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 5}},
			short:   []string{"4 replicas of subset a have no place: m1 has 3 (out of reach), m2 has 2 (out of reach)"},
		},
		"a cluster left": {
			spec: "{replicas: 9, topology: {subsets: [{name: a}]}}",
			change: func(r *share.Request) {
				r.Held = share.Holdings{"m1": {"a": 3}, "gone": {"a": 6}}
			},
			want:    []string{`m1: a=5 [{"name":"a"}]`, `m2: a=4 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 9}},
		},
		"below the sum of fixed numbers": {
			spec:    "{replicas: 4, topology: {subsets: [{name: a, replicas: 3}, {name: b, replicas: 3}]}}",
			want:    []string{`m1: a=2 b=1 [{"name":"a"},{"name":"b"}]`, `m2: a=1 b=0 [{"name":"a"},{"name":"b"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 1}},
			notes:   1,
		},
		"stored before the webhook: the subsets' numbers are the total": {
			spec:    "{topology: {subsets: [{name: a, replicas: 4}, {name: b, replicas: 2}]}}",
			want:    []string{`m1: a=2 b=1 [{"name":"a"},{"name":"b"}]`, `m2: a=2 b=1 [{"name":"a"},{"name":"b"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 4}, {Name: "b", Replicas: 2}},
		},
		"stored before the webhook, adaptive": {
			spec:    "{topology: {scheduleStrategy: {type: Adaptive}, subsets: [{name: a, replicas: 4}, {name: b, replicas: 2}]}}",
			want:    []string{`m1: =3 [{"minReplicas":0,"name":"a"},{"minReplicas":0,"name":"b"}]`, `m2: =3 [{"minReplicas":0,"name":"a"},{"minReplicas":0,"name":"b"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 4}, {Name: "b", Replicas: 2}},
		},
		"one says nothing: one in all": {
			spec:    "{topology: {subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [" + euUs + "]}}]}}",
			want:    []string{`m1: a=1 [{"name":"a"}]`},
			subsets: []share.Subset{{Name: "a", Replicas: 1}},
		},
		"duplicated": {
			spec:    "{replicas: 4, updateStrategy: {manualUpdate: {partitions: {eu: 2}}}, topology: {subsets: [{name: eu, nodeSelectorTerm: {matchExpressions: [" + euUs + "]}}, {name: any}]}}",
			change:  func(r *share.Request) { r.Mode = fleetv1alpha1.DivisionDuplicated },
			want:    []string{`m1: eu=2 any=2 eu@2 [{"name":"eu"},{"name":"any"}]`, `m2: any=2 [{"name":"any"}]`},
			subsets: []share.Subset{{Name: "eu", Replicas: 2, Partition: 2}, {Name: "any", Replicas: 4}},
		},
		"no subsets": {
			spec:  "{replicas: 4}",
			short: []string{"4 replicas have no place: no subset may take more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(united(t, tc.spec), eu, us)
			if tc.change != nil {
				tc.change(&req)
			}
			before := req.Target.DeepCopy()
			got, err := Divider{}.Divide(req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, show(got)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.subsets, got.Subsets); d != "" {
				t.Error(d)
			}
			var short []string
			for _, s := range got.Short {
				short = append(short, s.String())
			}
			if d := cmp.Diff(tc.short, short); d != "" || len(got.Notes) != tc.notes {
				t.Error(got.Notes, d)
			}
			if d := cmp.Diff(before, req.Target); d != "" {
				t.Errorf("the target changed: %s", d)
			}
		})
	}
}

func TestDivideRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"matchFields":   {"{topology: {subsets: [{name: a}, {name: b, nodeSelectorTerm: {matchFields: [{key: metadata.name, operator: In, values: [node]}]}}]}}", "spec.topology.subsets[1].nodeSelectorTerm.matchFields: "},
		"not numbers":   {"{replicas: many}", "spec: "},
		"min above max": {"{replicas: 4, topology: {subsets: [{name: a, minReplicas: 3, maxReplicas: 2}]}}", "spec.topology: subset a: minReplicas is 3, maxReplicas is 2"},
		"sum too low":   {"{replicas: 4, topology: {subsets: [{name: a, replicas: 3}]}}", "spec.topology: the replicas of all subsets add up to less"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Divider{}.Divide(request(united(t, tc.spec), cluster("m1", "eu", "")))
			var problem share.Problem
			if !errors.As(err, &problem) || problem.Reason != fleetv1alpha1.ReasonInvalidTarget || !strings.HasPrefix(problem.Message, tc.want) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestOverriddenSubset: an override may take a subset out for some clusters.
func TestOverriddenSubset(t *testing.T) {
	req := request(united(t, "{replicas: 4, topology: {subsets: [{name: a}, {name: b, replicas: 2}]}}"), cluster("m1", "eu", ""), cluster("m2", "us", ""))
	req.Clusters[1].Object = united(t, "{topology: {subsets: [{name: b}]}}")
	got, err := Divider{}.Divide(req)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{`m1: a=2 b=1 [{"name":"a"},{"name":"b"}]`, `m2: b=1 [{"name":"b"}]`}, show(got)); d != "" {
		t.Error(d)
	}
}

// TestSpoiltByOverride: an override that leaves nothing to divide is a mistake, and takes nobody's share away.
func TestSpoiltByOverride(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"no topology":     {"{}", "spec.overrides: for cluster m2: takes every subset"},
		"no list":         {"{topology: {subsets: many}}", "spec.overrides: for cluster m2: "},
		"not numbers":     {"{replicas: x, topology: {subsets: [{name: a}]}}", "spec.overrides: for cluster m2: spec: "},
		"node attributes": {"{topology: {subsets: [{name: a, nodeSelectorTerm: {matchFields: [{key: metadata.name, operator: In, values: [node]}]}}]}}", "spec.overrides: for cluster m2: spec.topology.subsets[0]"},
	} {
		req := request(united(t, "{replicas: 4, topology: {subsets: [{name: a}]}}"), cluster("m1", "eu", ""), cluster("m2", "us", ""))
		req.Clusters[1].Object = united(t, tc.spec)
		_, err := Divider{}.Divide(req)
		var problem share.Problem
		if !errors.As(err, &problem) || problem.Reason != fleetv1alpha1.ReasonRenderFailed || !strings.HasPrefix(problem.Message, tc.want) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestEqualMembersShareOneObject(t *testing.T) {
	got, err := Divider{}.Divide(request(united(t, "{replicas: 4, topology: {subsets: [{name: a}]}}"), cluster("m1", "eu", ""), cluster("m2", "us", "")))
	if err != nil {
		t.Fatal(err)
	}
	if got.Slices[0].Object != got.Slices[1].Object {
		t.Error("equal objects are built twice")
	}
}

// TestTermsStay: a member's term stays while it chooses the same nodes, and changes when it must.
func TestTermsStay(t *testing.T) {
	target := united(t, "{replicas: 1, topology: {subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a, b]}]}}]}}")
	const open, narrowed = `m1: a=1 [{"name":"a"}]`, `m1: a=1 [{"name":"a","nodeSelectorTerm":{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["a"]}]}}]`
	given := map[string]share.Terms{}
	for _, step := range []struct{ zones, want string }{{"a", open}, {"a,b", open}, {"a,c", narrowed}, {"a", narrowed}, {"a,b", open}} {
		req := request(target, cluster("m1", "eu", step.zones))
		req.Given = given
		plan, err := Divider{}.Divide(req)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{step.want}, show(plan)); d != "" {
			t.Errorf("zones %s: %s", step.zones, d)
		}
		given["m1"] = plan.Slices[0].Terms
	}
}

// TestClaimsGoMissing: a cluster whose zones are not known for a while keeps its share and its term, gets
// no more, may lose some, and the plan is the old one when they are back. A cluster that holds nothing
// gets nothing.
func TestClaimsGoMissing(t *testing.T) {
	const zones = "topology: {subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a, c]}]}}]}}"
	const kept = `[{"name":"a","nodeSelectorTerm":{"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["a"]}]}}]`
	var last share.Plan
	for _, step := range []struct {
		name, zones, spec string
		mode              fleetv1alpha1.DivisionMode
		want              []string
		note              string
	}{
		{"before", "a,b", "{replicas: 4, ", "", []string{"m1: a=2 " + kept, `m2: a=2 [{"name":"a"}]`}, ""},
		{"missing", "", "{replicas: 4, ", "", []string{"m1: a=2 " + kept, `m2: a=2 [{"name":"a"}]`},
			"subset a: m1: topology.kubernetes.io/zone is unknown, wanted In (a,c): it keeps what it has and gets no more"},
		{"grown", "", "{replicas: 7, ", "", []string{"m1: a=2 " + kept, `m2: a=5 [{"name":"a"}]`}, "subset a: m1"},
		{"shrunk", "", "{replicas: 2, ", "", []string{"m1: a=1 " + kept, `m2: a=1 [{"name":"a"}]`}, "subset a: m1"},
		{"copies", "", "{replicas: 4, ", fleetv1alpha1.DivisionDuplicated, []string{"m1: a=1 " + kept, `m2: a=4 [{"name":"a"}]`}, "subset a: m1"},
		{"copies, back", "a,b", "{replicas: 4, ", fleetv1alpha1.DivisionDuplicated, []string{"m1: a=4 " + kept, `m2: a=4 [{"name":"a"}]`}, ""},
		{"another zone", "b", "{replicas: 4, ", "", []string{`m2: a=4 [{"name":"a"}]`}, ""},
		{"missing after that", "", "{replicas: 4, ", "", []string{`m2: a=4 [{"name":"a"}]`}, ""},
	} {
		req := request(united(t, step.spec+zones), cluster("m1", "eu", step.zones), cluster("m2", "us", "c"), cluster("m3", "us", ""))
		req.Given = map[string]share.Terms{}
		if step.mode != "" {
			req.Mode = step.mode
		}
		for _, s := range last.Slices {
			req.Held[s.Cluster], req.Given[s.Cluster] = s.Held, s.Terms
		}
		plan, err := Divider{}.Divide(req)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(step.want, show(plan)); d != "" {
			t.Errorf("%s: %s", step.name, d)
		}
		if note := strings.Join(plan.Notes, ";"); !strings.HasPrefix(note, step.note) || (step.note == "") != (note == "") {
			t.Errorf("%s: note %q", step.name, note)
		}
		last = plan
	}
}

// TestClaimsGoMissingAdaptive: with Adaptive too, all that a member gets stays as it was.
func TestClaimsGoMissingAdaptive(t *testing.T) {
	const spec = "{replicas: 9, topology: {scheduleStrategy: {type: Adaptive}, subsets: [{name: a, minReplicas: 2, maxReplicas: 4, nodeSelectorTerm: {matchExpressions: [" + euUs + "]}}, {name: b, minReplicas: 6}]}}"
	before, err := Divider{}.Divide(request(united(t, spec), cluster("m1", "eu", "")))
	if err != nil {
		t.Fatal(err)
	}
	req := request(united(t, spec), cluster("m1", "", ""))
	req.Held["m1"], req.Given = before.Slices[0].Held, map[string]share.Terms{"m1": before.Slices[0].Terms}
	after, err := Divider{}.Divide(req)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(show(before), show(after)); d != "" || len(after.Moves) > 0 {
		t.Error(after.Moves, d)
	}
}
