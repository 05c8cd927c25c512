// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"pgregory.net/rapid"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func req(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func term(reqs ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: reqs}
}

func managed(name string, labels, claims map[string]string) *clusterv1.ManagedCluster {
	mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	for k, v := range claims {
		mc.Status.ClusterClaims = append(mc.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: k, Value: v})
	}
	return mc
}

func TestMatch(t *testing.T) {
	zone, region := corev1.LabelTopologyZone, corev1.LabelTopologyRegion
	eu := FromManagedCluster(managed("eu-1", map[string]string{fleetv1alpha1.ClusterSetKey: "prod"}, map[string]string{"region": "eu", "zones": "b, a,a,", ocmPlatform: "AWS"}))
	bare := FromManagedCluster(managed("bare", nil, nil))
	labelled := FromManagedCluster(managed("l", map[string]string{region: "us", zone: "x"}, nil))
	for name, tc := range map[string]struct {
		cluster Cluster
		term    corev1.NodeSelectorTerm
		want    bool
		member  corev1.NodeSelectorTerm
		why     string
	}{
		"empty term":               {eu, term(), true, term(), ""},
		"cluster by name":          {eu, term(req(fleetv1alpha1.ClusterKey, "In", "eu-1", "eu-2")), true, term(), ""},
		"another cluster":          {eu, term(req(fleetv1alpha1.ClusterKey, "In", "eu-2")), false, term(), "fleet.kruise.io/cluster is eu-1, wanted In (eu-2)"},
		"not this cluster":         {eu, term(req(fleetv1alpha1.ClusterKey, "NotIn", "eu-1")), false, term(), "fleet.kruise.io/cluster is eu-1, wanted NotIn (eu-1)"},
		"cluster set":              {eu, term(req(fleetv1alpha1.ClusterSetKey, "Exists")), true, term(), ""},
		"provider by claim":        {eu, term(req(fleetv1alpha1.ProviderKey, "In", "AWS")), true, term(), ""},
		"no provider":              {bare, term(req(fleetv1alpha1.ProviderKey, "DoesNotExist")), true, term(), ""},
		"region covered":           {eu, term(req(region, "In", "eu", "us")), true, term(), ""},
		"zone narrowed":            {eu, term(req(zone, "In", "c", "a")), true, term(req(zone, "In", "a")), ""},
		"zone covered":             {eu, term(req(zone, "In", "c", "a", "b")), true, term(), ""},
		"zone elsewhere":           {eu, term(req(zone, "In", "c")), false, term(), "topology.kubernetes.io/zone is a,b, wanted In (c)"},
		"some zone remains":        {eu, term(req(zone, "NotIn", "a")), true, term(req(zone, "NotIn", "a")), ""},
		"no zone remains":          {eu, term(req(zone, "NotIn", "a", "b")), false, term(), "topology.kubernetes.io/zone is a,b, wanted NotIn (a,b)"},
		"zone not touched":         {eu, term(req(zone, "NotIn", "c")), true, term(), ""},
		"zones unknown, NotIn":     {bare, term(req(zone, "NotIn", "c")), true, term(), ""},
		"zone exists":              {eu, term(req(zone, "Exists")), true, term(req(zone, "Exists")), ""},
		"zone does not exist":      {eu, term(req(zone, "DoesNotExist")), false, term(), "topology.kubernetes.io/zone is a,b, wanted DoesNotExist"},
		"zones unknown, no zone":   {bare, term(req(zone, "DoesNotExist")), true, term(req(zone, "DoesNotExist")), ""},
		"labels stand in":          {labelled, term(req(region, "In", "us"), req(zone, "In", "x")), true, term(), ""},
		"other keys pass":          {eu, term(req("gpu", "Gt", "3"), req(region, "In", "eu")), true, term(req("gpu", "Gt", "3")), ""},
		"all requirements at once": {eu, term(req(region, "In", "eu"), req(zone, "In", "c")), false, term(), "topology.kubernetes.io/zone is a,b, wanted In (c)"},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := Compile(tc.term)
			if err != nil {
				t.Fatal(err)
			}
			got := compiled.Match(tc.cluster)
			if d := cmp.Diff(Verdict{Matches: tc.want, Why: tc.why, Member: tc.member}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestUnknown: a missing claim is told from a value that does not fit, and one of the latter decides.
func TestUnknown(t *testing.T) {
	zone, region := corev1.LabelTopologyZone, corev1.LabelTopologyRegion
	bare := FromManagedCluster(managed("bare", nil, map[string]string{"region": "eu"}))
	for name, tc := range map[string]struct {
		term corev1.NodeSelectorTerm
		want Verdict
	}{
		"zone, In": {term(req("gpu", "Exists"), req(zone, "In", "c"), req(region, "In", "eu")),
			Verdict{Unknown: true, Why: "topology.kubernetes.io/zone is unknown, wanted In (c)", Member: term(req("gpu", "Exists"), req(zone, "In", "c"))}},
		"zone, Exists": {term(req(zone, "Exists")),
			Verdict{Unknown: true, Why: "topology.kubernetes.io/zone is unknown, wanted Exists", Member: term(req(zone, "Exists"))}},
		"provider": {term(req(fleetv1alpha1.ProviderKey, "In", "AWS")),
			Verdict{Unknown: true, Why: "fleet.kruise.io/provider is unknown, wanted In (AWS)"}},
		"a region that does not fit": {term(req(zone, "In", "c"), req(region, "In", "us")),
			Verdict{Why: "topology.kubernetes.io/region is eu, wanted In (us)"}},
		"taken out of the cluster set": {term(req(fleetv1alpha1.ClusterSetKey, "Exists")),
			Verdict{Why: "cluster.open-cluster-management.io/clusterset is unknown, wanted Exists"}},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := Compile(tc.term)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, compiled.Match(bare)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	zone := corev1.LabelTopologyZone
	for name, tc := range map[string]struct {
		term corev1.NodeSelectorTerm
		want string
	}{
		"matchFields":   {corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{req("metadata.name", "In", "n")}}, "matchFields"},
		"greater":       {term(req("a", "Exists"), req(zone, "Gt", "1")), "matchExpressions[1].operator"},
		"less":          {term(req(fleetv1alpha1.ClusterKey, "Lt", "1")), "matchExpressions[0].operator"},
		"no operator":   {term(req(zone, "Near", "1")), "matchExpressions[0].operator"},
		"In of nothing": {term(req(zone, "In")), "matchExpressions[0].values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Compile(tc.term); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("err = %v, want %s…", err, tc.want)
			}
		})
	}
}

var operators = []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist}

// nodeMatches asks Kubernetes' own label requirements whether a node with that value ("" for none)
// matches the requirement.
func nodeMatches(t *rapid.T, e corev1.NodeSelectorRequirement, value string) bool {
	op := map[corev1.NodeSelectorOperator]selection.Operator{
		corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
		corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	}[e.Operator]
	r, err := labels.NewRequirement(e.Key, op, e.Values)
	if err != nil {
		t.Fatal(err)
	}
	node := labels.Set{}
	if value != "" {
		node[e.Key] = value
	}
	return r.Matches(node)
}

// TestTruthTable: a cluster matches when some node of it would (a cluster without values has nodes
// without the label), and the member's copy chooses the very same nodes as the original.
func TestTruthTable(t *testing.T) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(append(slices.Clone(clusterOnly), topology...)).Draw(t, "key")
		e := req(key, rapid.SampledFrom(operators).Draw(t, "operator"))
		if e.Operator == corev1.NodeSelectorOpIn || e.Operator == corev1.NodeSelectorOpNotIn {
			e.Values = names.Filter(func(v []string) bool { return len(v) > 0 }).Draw(t, "T")
		}
		values := names.Draw(t, "V")
		slices.Sort(values)
		compiled, err := Compile(term(e))
		if err != nil {
			t.Fatal(err)
		}
		got := compiled.Match(Cluster{values: map[string][]string{key: values}})
		nodes := values
		if len(nodes) == 0 {
			nodes = []string{""}
		}
		if want := slices.ContainsFunc(nodes, func(v string) bool { return nodeMatches(t, e, v) }); got.Matches != want {
			t.Fatalf("matches %v, want %v", got.Matches, want)
		}
		if got.Matches {
			checkMember(t, e, got.Member.MatchExpressions, nodes)
			if !compiled.Holds(got.Member, Cluster{values: map[string][]string{key: values}}) {
				t.Fatal("the member's own term does not hold")
			}
		}
	})
}

func checkMember(t *rapid.T, e corev1.NodeSelectorRequirement, kept []corev1.NodeSelectorRequirement, nodes []string) {
	if slices.Contains(clusterOnly, e.Key) {
		if len(kept) > 0 {
			t.Fatalf("the member keeps %v", kept)
		}
		return
	}
	for _, node := range nodes {
		member := len(kept) == 0 || nodeMatches(t, kept[0], node)
		if original := nodeMatches(t, e, node); member != original {
			t.Fatalf("node %q: original %v, member %v by %v", node, original, member, kept)
		}
	}
	for _, k := range kept {
		if k.Operator == corev1.NodeSelectorOpIn && slices.ContainsFunc(k.Values, func(v string) bool { return !slices.Contains(nodes, v) }) {
			t.Fatalf("not narrowed to the cluster's values: %v", k)
		}
	}
}

func TestHolds(t *testing.T) {
	zone, region := corev1.LabelTopologyZone, corev1.LabelTopologyRegion
	at := func(zones string) Cluster {
		return FromManagedCluster(managed("m", nil, map[string]string{"zones": zones}))
	}
	inAB, gpu := req(zone, "In", "a", "b"), req("gpu", "Exists")
	for name, tc := range map[string]struct {
		term, given corev1.NodeSelectorTerm
		cluster     Cluster
		want        bool
	}{
		"dropped, zones within":           {term(inAB), term(), at("a"), true},
		"dropped, a zone outside joined":  {term(inAB), term(), at("a,c"), false},
		"narrowed, as it was":             {term(inAB), term(req(zone, "In", "a")), at("a,c"), true},
		"narrowed, the zone outside left": {term(inAB), term(req(zone, "In", "a")), at("a"), true},
		"narrowed, a zone within joined":  {term(inAB), term(req(zone, "In", "a")), at("a,b,c"), false},
		"another requirement":             {term(inAB, gpu), term(req(zone, "In", "a")), at("a"), false},
		"the same other requirement":      {term(gpu, inAB), term(gpu), at("a"), true},
		"no zones known":                  {term(req(zone, "DoesNotExist")), term(req(zone, "DoesNotExist")), at(""), true},
		"zones became known":              {term(req(zone, "NotIn", "a")), term(), at("a,b"), false},
		"another key":                     {term(req(region, "DoesNotExist")), term(), at("a"), true},
		"matchFields":                     {term(), corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{gpu}}, at("a"), false},
	} {
		compiled, err := Compile(tc.term)
		if err != nil {
			t.Fatal(err)
		}
		if got := compiled.Holds(tc.given, tc.cluster); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
