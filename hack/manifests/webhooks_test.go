// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"path/filepath"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// TestElectionsAreNotHeldUp: whatever folder is applied, a webhook that is asked about Leases is asked about those of
// the probe alone, and there is one: nodes and leaders everywhere renew Leases, and this webhook fails closed.
func TestElectionsAreNotHeldUp(t *testing.T) {
	for _, dir := range []string{"hub", "spoke", "overlays/dev/hub", "overlays/dev/member", "overlays/from-openkruise"} {
		found := 0
		for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", dir)) {
			if obj.GetKind() != "MutatingWebhookConfiguration" {
				continue
			}
			cfg := admissionv1.MutatingWebhookConfiguration{}
			fromUnstructured(t, obj.Object, &cfg)
			for _, hook := range cfg.Webhooks {
				if !asksAbout(hook.Rules, "coordination.k8s.io", "leases") {
					continue
				}
				found++
				if metav1.FormatLabelSelector(hook.ObjectSelector) != "internal.kruise.io/reach-probe="+cfg.Name {
					t.Errorf("%s: %s is asked about Leases %v", dir, hook.Name, hook.ObjectSelector)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s: %d webhooks are asked about Leases, want that of the probe", dir, found)
		}
	}
}

func asksAbout(rules []admissionv1.RuleWithOperations, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		return (slices.Contains(r.APIGroups, group) || slices.Contains(r.APIGroups, "*")) &&
			slices.ContainsFunc(r.Resources, func(have string) bool { return have == resource || have == "*" || have == "*/*" })
	})
}
