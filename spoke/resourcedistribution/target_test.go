// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func listOf(names ...string) v1beta1.ResourceDistributionTargetNamespaces {
	out := v1beta1.ResourceDistributionTargetNamespaces{}
	for _, name := range names {
		out.List = append(out.List, v1beta1.ResourceDistributionNamespace{Name: name})
	}
	return out
}

func TestResolve(t *testing.T) {
	team := func(name string) namespaceFacts { return namespaceFacts{labels: map[string]string{"team": name}} }
	there := map[string]namespaceFacts{
		"a": team("red"), "b": team("red"), "c": team("blue"), "d": {},
		"kube-system": team("red"), "kube-public": {}, "going": {labels: map[string]string{"team": "red"}, going: true},
	}
	red := metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	none := []string(nil)
	for name, tc := range map[string]struct {
		targets       v1beta1.ResourceDistributionTargets
		want, without []string
	}{
		"nothing said": {v1beta1.ResourceDistributionTargets{}, none, []string{"a", "b", "c", "d", "going", "kube-public", "kube-system"}},
		"all": {
			v1beta1.ResourceDistributionTargets{AllNamespaces: true},
			[]string{"a", "b", "c", "d", "going"}, []string{"kube-public", "kube-system"},
		},
		"all, and the others do not count": {
			v1beta1.ResourceDistributionTargets{AllNamespaces: true, IncludedNamespaces: listOf("not-there"), NamespaceSelector: red},
			[]string{"a", "b", "c", "d", "going"}, []string{"kube-public", "kube-system"},
		},
		"all but one": {
			v1beta1.ResourceDistributionTargets{AllNamespaces: true, ExcludedNamespaces: listOf("b")},
			[]string{"a", "c", "d", "going"}, []string{"b", "kube-public", "kube-system"},
		},
		"by name, there or not": {
			v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf("c", "not-there")},
			[]string{"c", "not-there"}, []string{"a", "b", "d", "going", "kube-public", "kube-system"},
		},
		"never the system's": {
			v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf("kube-system", "kube-public"), NamespaceSelector: red},
			[]string{"a", "b", "going"}, []string{"c", "d", "kube-public", "kube-system"},
		},
		"by label and by name, excluded wins": {
			v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf("c", "d"), ExcludedNamespaces: listOf("a", "d"), NamespaceSelector: red},
			[]string{"b", "c", "going"}, []string{"a", "d", "kube-public", "kube-system"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			to, err := aimOf(&tc.targets)
			if err != nil {
				t.Fatal(err)
			}
			got, others := to.resolve(there)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("targets (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.without, others); d != "" {
				t.Errorf("others (-want +got):\n%s", d)
			}
		})
	}
}

func TestBadSelector(t *testing.T) {
	_, err := aimOf(&v1beta1.ResourceDistributionTargets{NamespaceSelector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
	}})
	if err == nil {
		t.Error("it was taken")
	}
}
