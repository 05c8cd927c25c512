// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ruled(path, group, resource string, operations ...any) map[string]any {
	return map[string]any{
		"name": "w", "clientConfig": map[string]any{"url": "https://h" + path},
		"rules": []any{map[string]any{"apiGroups": []any{group}, "resources": []any{resource}, "operations": operations}},
	}
}

func TestExclude(t *testing.T) {
	o := &Options{Namespace: "elsewhere"}
	for name, tc := range map[string]struct {
		hook map[string]any
		want bool
	}{
		"new pods":                  {ruled("/p", "", "pods", "CREATE"), true},
		"deleted pods":              {ruled("/p", "", "pods", "DELETE"), true},
		"evictions":                 {ruled("/p", "", "pods/eviction", "CREATE"), true},
		"everything of core":        {ruled("/p", "", "*", "*"), true},
		"everything":                {ruled("/p", "*", "*/*", "UPDATE"), true},
		"secrets":                   {ruled("/p", "", "secrets", "CREATE"), true},
		"other people's kinds":      {ruled("/p", "apps", "deployments", "UPDATE"), true},
		"deletions of these":        {ruled("/p", "apps", "deployments", "DELETE"), false},
		"our kinds":                 {ruled("/p", "apps.kruise.io", "clonesets", "CREATE"), false},
		"the probe":                 {ruled(reachPath, "coordination.k8s.io", "leases", "CREATE"), false},
		"leases, but not the probe": {ruled("/p", "coordination.k8s.io", "leases", "CREATE"), true},
	} {
		if got := o.exclude(tc.hook); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if o.exclude(tc.hook) {
			t.Errorf("%s: changed again", name)
		}
	}
}

// The condition is kept up to date, beside those of others.
func TestExcludeKeepsOtherConditions(t *testing.T) {
	hook := ruled("/p", "", "pods", "CREATE")
	other := map[string]any{"name": "other", "expression": "true"}
	hook["matchConditions"] = []any{map[string]any{"name": ownNamespaces, "expression": "false"}, other}
	if !(&Options{Namespace: "elsewhere"}).exclude(hook) {
		t.Fatal("not changed")
	}
	want := []any{map[string]any{
		"name": ownNamespaces, "expression": "!has(request.namespace) || !(request.namespace in ['kube-system', 'elsewhere'])",
	}, other}
	if d := cmp.Diff(want, hook["matchConditions"]); d != "" {
		t.Error(d)
	}
}
