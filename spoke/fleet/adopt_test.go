// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// managed makes managed fields of server-side appliers.
func managed(owners ...string) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	for _, owner := range owners {
		out = append(out, metav1.ManagedFieldsEntry{Manager: owner, Operation: metav1.ManagedFieldsOperationApply})
	}
	return out
}

func TestClaimOf(t *testing.T) {
	for name, tc := range map[string]struct {
		label  string
		policy fleetv1alpha1.AdoptionPolicy
		want   claim
	}{
		"ours":                      {"ud.shop.web", fleetv1alpha1.AdoptionNever, claimOurs},
		"free, never":               {"", fleetv1alpha1.AdoptionNever, claimDenied},
		"free, if equal":            {"", fleetv1alpha1.AdoptionIfEqual, claimIfEqual},
		"free, policy not said":     {"", "", claimIfEqual},
		"free, always":              {"", fleetv1alpha1.AdoptionAlways, claimFree},
		"another's, always":         {"other", fleetv1alpha1.AdoptionAlways, claimDenied},
		"a gone one's, always":      {"gone", fleetv1alpha1.AdoptionAlways, claimFree},
		"a gone one's, if equal":    {"gone", fleetv1alpha1.AdoptionIfEqual, claimIfEqual},
		"a gone one's, never":       {"gone", fleetv1alpha1.AdoptionNever, claimDenied},
		"another's, if equal":       {"other", fleetv1alpha1.AdoptionIfEqual, claimDenied},
		"ours, whatever the policy": {"ud.shop.web", fleetv1alpha1.AdoptionAlways, claimOurs},
	} {
		t.Run(name, func(t *testing.T) {
			s := sliceWith(t, udText, nil, nil)
			s.Spec.Adoption = tc.policy
			live := parse(t, udText)
			if tc.label != "" {
				live.SetLabels(map[string]string{fleetv1alpha1.SliceLabel: tc.label})
			}
			got, why := claimOf(s, live, func(label string) bool { return label == "other" })
			if got != tc.want || (why != "") != (tc.want == claimDenied) {
				t.Errorf("got %v (%q), want %v", got, why, tc.want)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	const live = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, labels: {x: y}}
spec:
  replicas: 4
  paused: false
  updateStrategy: {type: Manual, manualUpdate: {partitions: {a: 1}}}
  topology: {subsets: [{name: a, replicas: 4, nodeSelectorTerm: {matchExpressions: [{key: zone, values: [a]}]}}]}
status: {replicas: 4}
`
	for name, tc := range map[string]struct {
		applied string
		want    []string
	}{
		"equal but for numbers, metadata and status": {`
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, labels: {fleet.kruise.io/slice: s}}
spec:
  replicas: 9
  paused: false
  updateStrategy: {type: Manual, manualUpdate: {}}
  topology: {subsets: [{name: a, replicas: 9, nodeSelectorTerm: {matchExpressions: [{key: zone, values: [a]}]}}]}
`, nil},
		"fields differ": {`
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web}
spec:
  updateStrategy: {type: Manual}
  template: {x: 1}
  topology: {subsets: [{name: a, nodeSelectorTerm: {matchExpressions: [{key: zone, values: [b]}]}}]}
`, []string{"spec.paused", "spec.template.x", "spec.topology.subsets[0].nodeSelectorTerm.matchExpressions[0].values[0]"}},
		"one more subset": {`
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web}
spec:
  paused: false
  updateStrategy: {type: Manual}
  topology: {subsets: [{name: a}, {name: b}]}
`, []string{"spec.topology.subsets"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, differences(parse(t, live), parse(t, tc.applied))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestConflictText(t *testing.T) {
	got := conflictText(parse(t, udText), []string{"a", "b", "c", "d", "e", "f"})
	want := "UnitedDeployment shop/web is there already, is not the fleet's, and differs in a, b, c, d, e and 1 more"
	if got != want {
		t.Errorf("got %q", got)
	}
}
