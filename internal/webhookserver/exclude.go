// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ownNamespaces names the condition under which the API server asks a webhook that could hold us up.
	ownNamespaces = "not-our-own.internal.kruise.io"
	// ourGroups is how the groups of our own kinds end: no pod of ours waits for an object of those.
	ourGroups = "kruise.io"
)

// exclude makes the API server not ask a webhook about the system's namespace and the one we run in, where
// the webhook could keep our own pods from starting; it tells whether it changed anything. The manifests
// exclude the namespace that they are written for; we may run in another one, so the keeper sees to it. It adds
// a condition instead of changing the namespaceSelector of the manifests: a server-side apply of those would
// be refused over a field which the keeper holds, and a client-side one would undo it.
func (o *Options) exclude(hook map[string]any) bool {
	if !couldHoldUs(hook) || pathOfHook(hook) == reachPath {
		return false
	}
	want := map[string]any{
		"name":       ownNamespaces,
		"expression": fmt.Sprintf("!has(request.namespace) || !(request.namespace in ['%s', '%s'])", metav1.NamespaceSystem, o.Namespace),
	}
	conditions, _ := hook["matchConditions"].([]any)
	for i, c := range conditions {
		if have, ok := c.(map[string]any); ok && have["name"] == ownNamespaces {
			if have["expression"] == want["expression"] {
				return false
			}
			conditions = slices.Clone(conditions)
			conditions[i] = want
			hook["matchConditions"] = conditions
			return true
		}
	}
	hook["matchConditions"] = append(slices.Clone(conditions), want)
	return true
}

// couldHoldUs tells whether a webhook is asked about pods, or about writes of anything that is not ours.
func couldHoldUs(hook map[string]any) bool {
	rules, _ := hook["rules"].([]any)
	return slices.ContainsFunc(rules, func(r any) bool {
		rule, _ := r.(map[string]any)
		groups := texts(rule["apiGroups"])
		foreign := slices.ContainsFunc(groups, func(g string) bool { return !strings.HasSuffix(g, ourGroups) })
		writes := slices.ContainsFunc(texts(rule["operations"]), func(op string) bool { return op != "DELETE" })
		pods := slices.ContainsFunc(groups, func(g string) bool { return g == "" || g == "*" }) && slices.ContainsFunc(texts(rule["resources"]), ofPods)
		return pods || (foreign && writes)
	})
}

func ofPods(resource string) bool {
	main, _, _ := strings.Cut(resource, "/")
	return main == "pods" || main == "*"
}

func texts(list any) []string {
	items, _ := list.([]any)
	var out []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
