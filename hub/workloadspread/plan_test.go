// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// zones is a subset of each zone, the last one open.
const zones = "{subsets: [{name: a, maxReplicas: 3, "

func TestDivide(t *testing.T) {
	east, west := func() share.Cluster { return cluster("east", "z1,z2,z3") }, func() share.Cluster { return cluster("west", "z3,z4,z5") }
	frozen := func(c share.Cluster) share.Cluster { c.Frozen = "out of reach"; return c }
	ab := zones + in("z1", "z2") + "}, {name: b, " + in("z3", "z4") + "}]}"
	for name, tc := range map[string]struct {
		spec     string
		replicas int32
		clusters []share.Cluster
		held     share.Holdings
		want     []string
		notes    string
		short    string
	}{
		"each subset where it matches": {
			spec: ab, replicas: 7, clusters: []share.Cluster{east(), west()},
			want: []string{"east 5 {a:3,b:2} [{maxReplicas:3,name:a,requiredNodeSelector:In[z1,z2]},{name:b,requiredNodeSelector:In[z3]}]", "west 2 {b:2} [{name:b,requiredNodeSelector:In[z3,z4]}]"},
		},
		"fewer than the first takes": {
			spec: ab, replicas: 2, clusters: []share.Cluster{east(), west()},
			want: []string{"east 2 {a:2,b:0} [{maxReplicas:3,name:a,requiredNodeSelector:In[z1,z2]},{name:b,requiredNodeSelector:In[z3]}]", "west 0 {b:0} [{name:b,requiredNodeSelector:In[z3,z4]}]"},
		},
		"a percentage is rounded up": {
			spec: "{subsets: [{name: a, maxReplicas: 34%, " + in("z1") + "}, {name: b, maxReplicas: 66%, " + in("z3") + "}]}", replicas: 7, clusters: []share.Cluster{east()},
			want: []string{"east 7 {a:3,b:4} [{maxReplicas:3,name:a,requiredNodeSelector:In[z1]},{maxReplicas:5,name:b,requiredNodeSelector:In[z3]}]"},
		},
		"the bound is divided as the replicas are": {
			spec: "{subsets: [{name: a, maxReplicas: 5, " + in("z3") + "}, {name: b, " + in("z1", "z5") + "}]}", replicas: 2, clusters: []share.Cluster{east(), west()},
			held: share.Holdings{"west": {"a": 2}},
			want: []string{"east 0 {a:0,b:0} [{maxReplicas:3,name:a,requiredNodeSelector:In[z3]},{name:b,requiredNodeSelector:In[z1]}]", "west 2 {a:2,b:0} [{maxReplicas:2,name:a,requiredNodeSelector:In[z3]},{name:b,requiredNodeSelector:In[z5]}]"},
		},
		"a zone that no cluster has": {
			spec: "{subsets: [{name: a, maxReplicas: 3, " + in("z9") + "}, {name: b}]}", replicas: 5, clusters: []share.Cluster{west()},
			want: []string{"west 5 {b:5}"}, notes: "subset a: 3 replicas went on to later subsets: no selected cluster matches: west: topology.kubernetes.io/zone is z3,z4,z5, wanted In (z9)",
		},
		"a cluster that has gone": {
			spec: "{subsets: [{name: a, maxReplicas: 3, " + at("east") + "}, {name: b, " + at("west") + "}]}", replicas: 5, clusters: []share.Cluster{west()},
			held: share.Holdings{"east": {"a": 3}, "west": {"b": 2}},
			want: []string{"west 5 {b:5}"}, notes: "subset a: 3 replicas went on",
		},
		"a cluster out of reach keeps what it has, and no more": {
			spec: ab, replicas: 9, clusters: []share.Cluster{frozen(east()), west()}, held: share.Holdings{"east": {"a": 2, "b": 1}, "west": {"b": 1}},
			want:  []string{"east 3 {a:2,b:1} [{maxReplicas:2,name:a,requiredNodeSelector:In[z1,z2]},{name:b,requiredNodeSelector:In[z3]}]", "west 6 {b:6} [{name:b,requiredNodeSelector:In[z3,z4]}]"},
			notes: "subset a: 1 replicas went on to later subsets: east: has 2, out of reach",
		},
		"what it held without a spread counts": {
			spec: ab, replicas: 6, clusters: []share.Cluster{frozen(east()), west()}, held: share.Holdings{"east": {"": 4}, "west": {"": 2}},
			want: []string{"east 4 {a:3,b:1} [{maxReplicas:3,name:a,requiredNodeSelector:In[z1,z2]},{name:b,requiredNodeSelector:In[z3]}]", "west 2 {b:2} [{name:b,requiredNodeSelector:In[z3,z4]}]"},
		},
		"what a subset lets go of stays in its cluster": {
			spec: "{subsets: [{name: a, maxReplicas: 1}, {name: b, " + in("z3") + "}]}", replicas: 6, clusters: []share.Cluster{east(), west()}, held: share.Holdings{"east": {"a": 5}, "west": {"a": 1}},
			want: []string{"east 5 {a:0,b:5} [{maxReplicas:0,name:a},{name:b,requiredNodeSelector:In[z3]}]", "west 1 {a:1,b:0} [{maxReplicas:1,name:a},{name:b,requiredNodeSelector:In[z3]}]"},
		},
		"more than all subsets take": {
			spec: "{subsets: [{name: a, maxReplicas: 2, " + in("z1") + "}]}", replicas: 6, clusters: []share.Cluster{east()},
			want: []string{`east 6 {:4,a:2} [{maxReplicas:2,name:a,requiredNodeSelector:In[z1]}]`}, notes: "4 replicas are more than all subsets take: they are in none",
		},
		"more of them, by weight": {
			spec: "{subsets: [{name: a, maxReplicas: 1, " + at("east") + "}]}", replicas: 5, clusters: []share.Cluster{east(), west()}, held: share.Holdings{"east": {"": 2, "a": 1}},
			want: []string{"east 3 {:2,a:1}", "west 2 {:2}"}, notes: "4 replicas are more than all subsets take: they are in none",
		},
		"out of reach, none changes its subset": {
			spec: "{subsets: [{name: a, maxReplicas: 3, " + in("z1") + "}]}", replicas: 5, clusters: []share.Cluster{frozen(east())}, held: share.Holdings{"east": {"": 1, "a": 1}},
			want: []string{"east 2 {:1,a:1} [{maxReplicas:1,name:a,requiredNodeSelector:In[z1]}]"}, notes: "1 replicas are more than all subsets take: they are in none",
			short: "3 replicas have no place: subset a: east: has 1, out of reach; in no subset: east: has 1, out of reach",
		},
		"no place at all": {
			spec: "{subsets: [{name: a, " + in("z9") + "}]}", replicas: 6, clusters: []share.Cluster{east()}, want: nil,
			short: "6 replicas have no place: subset a: no selected cluster matches: east: topology.kubernetes.io/zone is z1,z2,z3, wanted In (z9)",
		},
		"no cluster": {spec: ab, replicas: 2, short: "2 replicas have no place: no cluster is selected"},
		"nothing left to say in a member": {
			spec: "{subsets: [{name: a, maxReplicas: 1, " + at("east") + "}, {name: b, tolerations: [], " + at("west") + "}]}", replicas: 3, clusters: []share.Cluster{east(), west()},
			want: []string{"east 1 {a:1}", "west 2 {b:2}"},
		},
		"tolerations and patches are something": {
			spec: "{subsets: [{name: a, maxReplicas: 1, tolerations: [{key: k}], " + at("east") + "}, {name: b, patch: {metadata: {labels: {c: d}}}, " + at("west") + "}]}", replicas: 3, clusters: []share.Cluster{east(), west()},
			want: []string{"east 1 {a:1} [{maxReplicas:1,name:a,tolerations:[{key:k}]}]", "west 2 {b:2} [{name:b,patch:{metadata:{labels:{c:d}}}}]"},
		},
		"preferences for what a cluster has not, or is, choose no node": {
			spec: `{subsets: [{name: a, preferredNodeSelector: [
				{weight: 1, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z1, z9]}]}},
				{weight: 2, preference: {matchExpressions: [{key: fleet.kruise.io/cluster, operator: In, values: [east]}]}},
				{weight: 3, preference: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z4]}]}}]}]}`, replicas: 2, clusters: []share.Cluster{east(), cluster("north", "z7")},
			want: []string{"east 1 {a:1} [{name:a,preferredNodeSelector:[{preference:In[z1],weight:1}]}]", "north 1 {a:1}"},
		},
		"Adaptive leaves the last of a member open": {
			spec:     "{scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 9}}, subsets: [{name: a, maxReplicas: 1, " + in("z1") + "}, {name: b, maxReplicas: 1, " + in("z3") + "}, {name: c, " + in("z5") + "}]}",
			replicas: 3, clusters: []share.Cluster{east(), cluster("north", "z1"), west()},
			held: share.Holdings{"east": {"a": 1, "b": 1}},
			want: []string{"east 2 {a:1,b:1} [{maxReplicas:1,name:a,requiredNodeSelector:In[z1]},{name:b,requiredNodeSelector:In[z3]}]",
				"north 0 {a:0}", "west 1 {b:0,c:1} [{maxReplicas:0,name:b,requiredNodeSelector:In[z3]},{name:c,requiredNodeSelector:In[z5]}]"},
			notes: "scheduleStrategy Adaptive: whether pods find a node is not known of north: it has no WorkloadSpread of its own",
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(cloneSet(t, tc.replicas), tc.clusters...)
			if tc.held != nil {
				req.Held = tc.held
			}
			got, err := Divider{inner{}, spreading(t, tc.spec)}.Divide(req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, unquoted(show(got))); d != "" {
				t.Error(d)
			}
			if all := strings.Join(got.Notes, "; "); !strings.HasPrefix(all, "inner") || !strings.Contains(all, tc.notes) || (tc.notes == "" && all != "inner") {
				t.Errorf("notes: %s", all)
			}
			var short []string
			for _, s := range got.Short {
				short = append(short, s.String())
			}
			if all := strings.Join(short, "; "); all != tc.short {
				t.Errorf("short: %s", all)
			}
		})
	}
}

func unquoted(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, strings.ReplaceAll(line, `"`, ""))
	}
	return out
}

func TestMemberCopy(t *testing.T) {
	spec := "{targetFilter: {selector: {matchLabels: {app: web}}, replicasPathList: [spec.replicas]}, scheduleStrategy: {type: Adaptive}, subsets: [{name: a, unknownToUs: 7, " + in("z1") + "}]}"
	hub := spreading(t, spec)
	before := hub.DeepCopy()
	req := request(cloneSet(t, 4), cluster("east", "z1,z2"), cluster("north", "z1,z2"), cluster("west", "z1"))
	plan, err := Divider{inner{}, hub}.Divide(req)
	if err != nil {
		t.Fatal(err)
	}
	got := plan.Slices[0].Others[0]
	want := object(t, `
apiVersion: apps.kruise.io/v1beta1
kind: WorkloadSpread
metadata: {name: web, namespace: shop, labels: {team: shop}}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
  targetFilter: {selector: {matchLabels: {app: web}}, replicasPathList: [spec.replicas]}
  scheduleStrategy: {type: Adaptive}
  subsets: [{name: a, unknownToUs: 7, requiredNodeSelector: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z1]}]}}]`)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if plan.Slices[1].Others[0] != got {
		t.Error("equal copies are made twice")
	}
	if got := strings.Join(plan.Notes, ";"); !strings.Contains(got, "Adaptive without rescheduleCriticalSeconds") {
		t.Error(got)
	}
	if len(plan.Slices[2].Others) > 0 || !cmp.Equal(plan.Spread.Copied, map[string]bool{"east": true, "north": true}) {
		t.Error("where all nodes match, nothing is left to say")
	}
	if d := cmp.Diff(before, hub); d != "" {
		t.Error("the hub's object changed:", d)
	}
}

// TestTermsStay: a term that a member was given stays while it chooses the same nodes, and a cluster that
// says no more which zones it has keeps its share.
func TestTermsStay(t *testing.T) {
	divider := Divider{inner{}, spreading(t, "{subsets: [{name: a, maxReplicas: 4, "+in("z1")+"}, {name: b}]}")}
	req := request(cloneSet(t, 4), cluster("east", "z1,z2"))
	plan, _ := divider.Divide(req)
	hold(&req, plan)
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"z1"}}}}
	for zones, note := range map[string]string{"z1": "inner", "": "inner; subset a: east: topology.kubernetes.io/zone is unknown, wanted In (z1): it keeps what it has and gets no more"} {
		req.Clusters = []share.Cluster{cluster("east", zones)}
		again, _ := divider.Divide(req)
		if d := cmp.Diff(share.Terms{"a": term, "b": {}}, again.Slices[0].Terms); d != "" || len(again.Moves) > 0 {
			t.Errorf("zones %q: moves %v: %s", zones, again.Moves, d)
		}
		if got := strings.Join(again.Notes, "; "); got != note {
			t.Errorf("zones %q: %s", zones, got)
		}
	}
}

// TestStuck: replicas that find no node go on to other clusters of their subset and then to later subsets;
// of the last one they stay where there is nothing else.
func TestStuck(t *testing.T) {
	adaptive := "{scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 9}}, subsets: [{name: a, maxReplicas: 4, " + in("z1") + "}, {name: b, " + in("z3") + "}]}"
	for name, tc := range map[string]struct {
		clusters []share.Cluster
		held     share.Holdings
		most     share.Holdings
		want     []string
		notes    string
	}{
		"another cluster takes them": {[]share.Cluster{cluster("east", "z1,z2"), cluster("west", "z1,z3")},
			share.Holdings{"east": {"a": 4}, "west": {"b": 2}}, share.Holdings{"east": {"a": 1}},
			[]string{"east 1 {a:1} [{maxReplicas:1,name:a,requiredNodeSelector:In[z1]}]", "west 5 {a:3,b:2} [{maxReplicas:3,name:a,requiredNodeSelector:In[z1]},{name:b,requiredNodeSelector:In[z3]}]"}, ""},
		"a later subset takes them": {[]share.Cluster{cluster("east", "z1,z3"), cluster("west", "z3,z4")},
			share.Holdings{"east": {"a": 4}, "west": {"b": 2}}, share.Holdings{"east": {"a": 1}},
			[]string{"east 4 {a:1,b:3} [{maxReplicas:1,name:a,requiredNodeSelector:In[z1]},{name:b,requiredNodeSelector:In[z3]}]", "west 2 {b:2} [{name:b,requiredNodeSelector:In[z3]}]"},
			"subset a: 3 replicas went on to later subsets: east: has 1, more found no node there"},
		"in the last, another cluster takes them": {[]share.Cluster{cluster("east", "z1,z3"), cluster("west", "z3,z4")},
			share.Holdings{"east": {"a": 4, "b": 2}, "west": {"b": 0}}, share.Holdings{"east": {"b": 0}},
			[]string{"east 4 {a:4,b:0} [{maxReplicas:4,name:a,requiredNodeSelector:In[z1]},{name:b,requiredNodeSelector:In[z3]}]", "west 2 {b:2} [{name:b,requiredNodeSelector:In[z3]}]"}, ""},
		"in the last, they stay": {[]share.Cluster{cluster("east", "z1,z3"), cluster("west", "z3,z4")},
			share.Holdings{"east": {"a": 4, "b": 1}, "west": {"b": 1}}, share.Holdings{"east": {"b": 0}, "west": {"b": 0}},
			[]string{"east 5 {a:4,b:1} [{maxReplicas:4,name:a,requiredNodeSelector:In[z1]},{name:b,requiredNodeSelector:In[z3]}]", "west 1 {b:1} [{name:b,requiredNodeSelector:In[z3]}]"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(cloneSet(t, 6), tc.clusters...)
			req.Held, req.Most = tc.held, tc.most
			plan, err := Divider{inner{}, spreading(t, adaptive)}.Divide(req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, unquoted(show(plan))); d != "" {
				t.Error(d)
			}
			if got := strings.TrimPrefix(strings.Join(plan.Notes, "; "), "inner"); strings.TrimPrefix(got, "; ") != tc.notes {
				t.Error(got)
			}
		})
	}
}

// TestStuckAtRest: what has to stay in its subset stays in its cluster, even where others hold some of none.
func TestStuckAtRest(t *testing.T) {
	heavy := cluster("west", "z1")
	heavy.Weight = 4
	req := request(cloneSet(t, 7), cluster("east", "z1"), heavy)
	req.Held = share.Holdings{"east": {"": 2, "a": 2}, "west": {"": 1, "a": 2}}
	req.Most = share.Holdings{"east": {"a": 0}, "west": {"a": 2}}
	plan, err := Divider{inner{}, spreading(t, "{subsets: [{name: a, maxReplicas: 4}]}")}.Divide(req)
	if err != nil || len(plan.Moves) > 0 {
		t.Error(err, plan.Moves)
	}
}

func TestMoves(t *testing.T) {
	req := request(cloneSet(t, 6), cluster("east", "z1"), cluster("west", "z3"))
	req.Held = share.Holdings{"east": {"a": 1, "gone": 2}, "west": {"b": 2}, "south": {"a": 1}}
	plan, err := Divider{inner{}, spreading(t, zones+in("z1")+"}, {name: b, "+in("z3")+"}]}")}.Divide(req)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range plan.Moves {
		got = append(got, m.Subset+"@"+m.Name+" "+string(m.Reason))
	}
	if d := cmp.Diff([]string{"a@east Grow", "a@south Displaced", "b@west Grow", "gone@east Shrink"}, got); d != "" {
		t.Error(d)
	}
}

func TestDuplicate(t *testing.T) {
	halves := "{subsets: [{name: a, maxReplicas: 50%, " + in("z1") + "}, {name: b, maxReplicas: 50%, " + in("z2", "z3") + "}]}"
	job := object(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: web, namespace: shop, uid: u}, spec: {parallelism: 5}}")
	roles := object(t, "{apiVersion: x/v1, kind: Game, metadata: {name: web, namespace: shop, uid: u}, spec: {roles: [{replicas: 3}, {replicas: 4}]}}")
	filtered := "{targetFilter: {replicasPathList: [spec.roles.0.replicas, spec.roles.1.replicas]}, " + halves[1:]
	for name, tc := range map[string]struct {
		target func() share.Request
		spec   string
		want   []string
	}{
		"percentages stay where no subset is missing": {func() share.Request {
			return request(cloneSet(t, 7), cluster("east", "z1,z2"), cluster("north", "z1,z9"), cluster("west", "z9"))
		}, halves,
			[]string{"east [{maxReplicas:50%,name:a,requiredNodeSelector:In[z1]},{maxReplicas:50%,name:b,requiredNodeSelector:In[z2]}]", "north [{maxReplicas:4,name:a,requiredNodeSelector:In[z1]}]"}},
		"of a Job's parallelism": {func() share.Request { return request(job, cluster("north", "z1,z9")) }, halves, []string{"north [{maxReplicas:3,name:a,requiredNodeSelector:In[z1]}]"}},
		"of what the paths name": {func() share.Request { return request(roles, cluster("north", "z1,z9")) }, filtered, []string{"north [{maxReplicas:4,name:a,requiredNodeSelector:In[z1]}]"}},
		"a Job of one, in effect": {func() share.Request {
			return request(object(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {}}"), cluster("north", "z1,z9"))
		}, halves, []string{"north [{maxReplicas:1,name:a,requiredNodeSelector:In[z1]}]"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := tc.target()
			req.Mode = fleetv1alpha1.DivisionDuplicated
			plan, err := Divider{inner{}, spreading(t, tc.spec)}.Divide(req)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, unquoted(show(plan))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		mode fleetv1alpha1.DivisionMode
		want string
	}{
		"no subset":              {"{}", "", "spec.subsets: name at least one"},
		"no list":                {"{subsets: 7}", "", "spec: "},
		"a name twice":           {"{subsets: [{name: a}, {name: a}]}", "", `spec.subsets[1].name: "a" is empty, too long or there twice`},
		"no name":                {"{subsets: [{}]}", "", `spec.subsets[0].name: "" is empty`},
		"a bare number":          {`{subsets: [{name: a, maxReplicas: "5"}]}`, "", "spec.subsets[0].maxReplicas: 5 is neither a number nor a percentage"},
		"a negative number":      {"{subsets: [{name: a, maxReplicas: -1}]}", "", "spec.subsets[0].maxReplicas: -1 is neither"},
		"fields of nodes":        {"{subsets: [{name: a, requiredNodeSelector: {matchFields: [{key: metadata.name, operator: In, values: [node]}]}}]}", "", "spec.subsets[0].requiredNodeSelector.matchFields"},
		"a preference for them":  {"{subsets: [{name: a, preferredNodeSelector: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [node]}]}}]}]}", "", "spec.subsets[0].preferredNodeSelector[0].preference.matchFields"},
		"other numbers":          {"{targetFilter: {replicasPathList: [spec.x]}, subsets: [{name: a}]}", "", "spec.targetFilter.replicasPathList: "},
		"other pods":             {"{targetFilter: {selector: {matchLabels: {app: other}}}, subsets: [{name: a}]}", "", "spec.targetFilter.selector does not select"},
		"a path that is none":    {"{targetFilter: {replicasPathList: [spec.x.1]}, subsets: [{name: a}]}", fleetv1alpha1.DivisionDuplicated, "the workload has no spec.x.1"},
		"a path to no number":    {"{targetFilter: {replicasPathList: [spec.template]}, subsets: [{name: a}]}", fleetv1alpha1.DivisionDuplicated, "spec.template of the workload is no number of replicas"},
		"copies without subsets": {"{subsets: []}", fleetv1alpha1.DivisionDuplicated, "spec.subsets: name at least one"},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(cloneSet(t, 4), cluster("east", "z1"))
			if tc.mode != "" {
				req.Mode = tc.mode
			}
			_, err := Divider{inner{}, spreading(t, tc.spec)}.Divide(req)
			var problem share.Problem
			if !errors.As(err, &problem) || problem.Reason != fleetv1alpha1.ReasonInvalidTarget || !strings.HasPrefix(problem.Message, "WorkloadSpread web: "+tc.want) {
				t.Errorf("%#v", err)
			}
		})
	}
}
