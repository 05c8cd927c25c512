// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundDistribution = `
metadata: {name: pull-secret}
spec:
  resource: {apiVersion: v1, kind: Secret, metadata: {name: pull}, data: {a: Yg==}}
  targets: {includedNamespaces: {list: [{name: a}]}}
`

func TestValidateResourceDistribution(t *testing.T) {
	const resource, targets = "spec.resource", "spec.targets."
	validate := func(obj *v1beta1.ResourceDistribution) field.ErrorList {
		return ValidateResourceDistribution(nil, obj)
	}
	runRows(t, soundDistribution, validate, map[string]row{
		"sound":                      good(),
		"name":                       bad("metadata.name: lower case", "metadata.name: Pull"),
		"a namespace":                bad("metadata.namespace: Forbidden", "metadata.namespace: a"),
		"ConfigMap":                  good(resource + ": {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"),
		"a namespace in it":          good(resource + ".metadata.namespace: elsewhere"),
		"no resource":                bad(resource+": give the Secret or ConfigMap", resource+":"),
		"Deployment":                 bad(resource+": must be a Secret or a ConfigMap", resource+": {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}"),
		"Secret of another group":    bad(resource+": must be a Secret or a ConfigMap", resource+".apiVersion: a.b/v1"),
		"no object":                  bad(resource+": must be an object", resource+": [a]"),
		"no name":                    bad(resource+".metadata.name: name the copies", resource+".metadata: {}"),
		"a name that cannot be":      bad(resource+".metadata.name: lower case", resource+".metadata.name: A"),
		"all namespaces":             good(targets + "allNamespaces: true"),
		"no targets at all":          good("spec.targets: {}"),
		"included, broken":           bad(targets+"includedNamespaces.list[0].name: lower case", targets+"includedNamespaces.list: [{name: A}]"),
		"excluded, broken":           bad(targets+"excludedNamespaces.list[0].name: lower case", targets+"excludedNamespaces.list: [{name: A}]"),
		"excluded":                   good(targets + "excludedNamespaces.list: [{name: b}]"),
		"included and excluded":      bad(targets+"includedNamespaces.list[0].name: out of one list", targets+"excludedNamespaces.list: [{name: a}]"),
		"selector":                   good(targets + "namespaceSelector: {matchLabels: {a: b}}"),
		"selector, broken":           bad(targets+"namespaceSelector.matchExpressions[0].operator: not a valid", targets+"namespaceSelector: {matchExpressions: [{key: a, operator: Sideways}]}"),
		"system namespaces are fine": good(targets + "includedNamespaces.list: [{name: kube-system}]"),
	})
}

func TestValidateResourceDistributionUpdate(t *testing.T) {
	for name, c := range map[string]struct{ edits, want []string }{
		"data and targets": {edits: []string{"spec.resource.data: {a: Yw==}", "spec.targets.allNamespaces: true"}},
		"name":             {edits: []string{"spec.resource.metadata.name: other"}, want: []string{"spec.resource.metadata.name: cannot be changed"}},
		"kind":             {edits: []string{"spec.resource.kind: ConfigMap"}, want: []string{"spec.resource.kind: cannot be changed"}},
		"apiVersion": {edits: []string{"spec.resource.apiVersion: v2"},
			want: []string{"spec.resource.apiVersion: cannot be changed"}},
		"gone": {edits: []string{"spec.resource:"}, want: []string{"spec.resource: give the Secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			old := edited[v1beta1.ResourceDistribution](t, soundDistribution, "metadata.resourceVersion: '1'")
			obj := edited[v1beta1.ResourceDistribution](t, soundDistribution, append([]string{"metadata.resourceVersion: '1'"}, c.edits...)...)
			compare(t, ValidateResourceDistribution(old, obj), c.want)
		})
	}
}

func TestValidateOldResourceDistribution(t *testing.T) {
	validate := func(obj *v1alpha1.ResourceDistribution) field.ErrorList {
		return ValidateOldResourceDistribution(nil, obj)
	}
	runRows(t, soundDistribution, validate, map[string]row{
		"sound": good("spec.targets.namespaceLabelSelector: {matchLabels: {a: b}}"),
		"fields are named as they are": bad("spec.targets.namespaceLabelSelector.matchExpressions[0].operator: not a valid",
			"spec.targets.namespaceLabelSelector: {matchExpressions: [{key: a, operator: Sideways}]}"),
	})
	old := edited[v1alpha1.ResourceDistribution](t, soundDistribution, "metadata.resourceVersion: '1'")
	obj := edited[v1alpha1.ResourceDistribution](t, soundDistribution, "metadata.resourceVersion: '1'", "spec.resource.kind: ConfigMap")
	compare(t, ValidateOldResourceDistribution(old, obj), []string{"spec.resource.kind: cannot be changed"})
}
