// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

const soundPlacement = `
metadata: {name: web, namespace: default}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: UnitedDeployment, name: web}
  clusterSelector: {}
`

func TestValidateFleetPlacement(t *testing.T) {
	validate := func(obj *fleetv1alpha1.FleetPlacement) field.ErrorList { return ValidateFleetPlacement(nil, obj) }
	patch := func(text string) string { return "spec.overrides: [{clusterSelector: {}, patch: " + text + "}]" }
	steps := func(text string) string {
		return "spec.overrides: [{clusterSelector: {}, type: JSON6902, patch: " + text + "}]"
	}
	const at = "spec.overrides[0].patch"
	runRows(t, soundPlacement, validate, map[string]row{
		"sound":                        good(),
		"core group":                   good("spec.targetRef.apiVersion: v1"),
		"no group and version":         bad("spec.targetRef.apiVersion: which object", "spec.targetRef.apiVersion: ''"),
		"odd group and version":        bad("spec.targetRef.apiVersion: must be group/version", "spec.targetRef.apiVersion: a/b/c"),
		"no kind":                      bad("spec.targetRef.kind: which object", "spec.targetRef.kind: ''"),
		"no name":                      bad("spec.targetRef.name: which object", "spec.targetRef.name: ''"),
		"by name":                      good("spec.clusterSelector:", "spec.clusterNames: [a, b]"),
		"by placement":                 good("spec.clusterSelector:", "spec.placementRef: {name: p}"),
		"by nothing":                   bad("spec: exactly one of", "spec.clusterSelector:"),
		"by two ways":                  bad("spec: exactly one of", "spec.clusterNames: [a]"),
		"placement without a name":     bad("spec.placementRef.name: name a Placement", "spec.clusterSelector:", "spec.placementRef: {}"),
		"cluster twice":                bad("spec.clusterNames[1]: Duplicate", "spec.clusterSelector:", "spec.clusterNames: [a, a]"),
		"cluster with an odd name":     bad("spec.clusterNames[0]: lower case", "spec.clusterSelector:", "spec.clusterNames: [A_B]"),
		"selector with a bad operator": bad("spec.clusterSelector.matchExpressions[0].operator: not a valid", "spec.clusterSelector.matchExpressions: [{key: a, operator: Gt, values: ['1']}]"),
		"selector with a bad value":    bad("spec.clusterSelector.matchLabels: Invalid value", "spec.clusterSelector.matchLabels: {a: 'b c'}"),
		"weights":                      good("spec.division.weights: [{clusterSelector: {matchLabels: {a: b}}, weight: 0}, {clusterSelector: {}, weight: 1000000}]"),
		"weight below zero":            bad("spec.division.weights[0].weight: between 0 and 1000000", "spec.division.weights: [{clusterSelector: {}, weight: -1}]"),
		"weight with a bad selector":   bad("spec.division.weights[0].clusterSelector.matchExpressions[0].values: must be specified", "spec.division.weights: [{clusterSelector: {matchExpressions: [{key: a, operator: In}]}, weight: 1}]"),
		"override":                     good(patch("{spec: {replicas: 1}}")),
		"override with a bad selector": bad("spec.overrides[0].clusterSelector.matchExpressions[0].operator: not a valid", "spec.overrides: [{clusterSelector: {matchExpressions: [{key: a, operator: Like}]}, patch: {}}]"),
		"override of an unknown type":  bad("spec.overrides[0].type: supported values", "spec.overrides: [{clusterSelector: {}, type: Merge, patch: {}}]"),
		"override that is a list":      bad(at+": must be an object", patch("[{op: remove, path: /a}]")),
		"override that is a word":      bad(at+": must be an object", patch("word")),
		"override that is missing":     bad(at+": must be an object", "spec.overrides: [{clusterSelector: {}}]"),
		"override that names itself":   good(patch("{apiVersion: apps.kruise.io/v1beta1, kind: UnitedDeployment, metadata: {name: web, namespace: default}}")),
		"override of the kind":         bad(at+".kind: another object", patch("{kind: CloneSet}")),
		"override of the name":         bad(at+".metadata.name: another object", patch("{metadata: {name: other}}")),
		"override of the namespace":    bad(at+".metadata.namespace: another object", patch("{metadata: {namespace: other}}")),
		"operations":                   good(steps("[{op: replace, path: /spec/a, value: null}, {op: move, from: /spec/a, path: /spec/b}, {op: remove, path: /spec/b}]")),
		"no operations":                bad(at+": must be a list of RFC 6902 operations", steps("[]")),
		"operations that are none":     bad(at+": must be a list of RFC 6902 operations", steps("{spec: {}}")),
		"operation unknown":            bad(at+"[0].op: supported values", steps("[{op: merge, path: /a}]")),
		"operation on nothing":         bad(at+"[0].path: which field", steps("[{op: remove}]")),
		"operation on an odd path":     bad(at+"[0].path: must start with '/'", steps("[{op: remove, path: spec.replicas}]")),
		"operation without a value":    bad(at+"[0].value: needs a value", steps("[{op: add, path: /a}]")),
		"operation without a source":   bad(at+"[0].from: which field", steps("[{op: copy, path: /a}]")),
	})
}

func TestValidateFleetPlacementUpdate(t *testing.T) {
	broken := "spec.clusterSelector.matchLabels: {a: 'b c'}"
	cases := map[string]struct {
		old, obj []string
		want     []string
	}{
		"clusters":                    {obj: []string{"spec.clusterSelector:", "spec.clusterNames: [a]"}},
		"target":                      {obj: []string{"spec.targetRef.name: other"}, want: []string{"spec.targetRef: cannot be changed"}},
		"an old mistake, not touched": {old: []string{broken}, obj: []string{broken, "spec.deletionPolicy: Orphan"}},
		"an old mistake, and another": {old: []string{broken}, obj: []string{broken, "spec.division.weights: [{clusterSelector: {}, weight: -1}]"}, want: []string{"spec.division.weights[0].weight: between 0 and"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[fleetv1alpha1.FleetPlacement](t, soundPlacement, c.old...)
			compare(t, ValidateFleetPlacement(old, edited[fleetv1alpha1.FleetPlacement](t, soundPlacement, c.obj...)), c.want)
		})
	}
}
