// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWebhooksAreCalledAtTheProcess(t *testing.T) {
	const service = "{namespace: n, name: s, port: 443"
	for name, c := range map[string]struct{ in, want string }{
		"admission": {
			"{kind: MutatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {service: " + service + ", path: /m}}}, {name: b, clientConfig: {service: " + service + ", path: /n}}}]}",
			"{kind: MutatingWebhookConfiguration, webhooks: [{name: a, clientConfig: {url: 'https://127.0.0.1:7/m'}}, {name: b, clientConfig: {url: 'https://127.0.0.1:7/n'}}]}",
		},
		"conversion": {
			"{kind: CustomResourceDefinition, spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: " + service + ", path: /convert}}}}}}",
			"{kind: CustomResourceDefinition, spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://127.0.0.1:7/convert'}}}}}",
		},
		"no conversion": {
			"{kind: CustomResourceDefinition, spec: {conversion: {strategy: None}}}",
			"{kind: CustomResourceDefinition, spec: {conversion: {strategy: None}}}",
		},
		"anything else": {"{kind: ConfigMap, webhooks: [1]}", "{kind: ConfigMap, webhooks: [1]}"},
	} {
		got := object(t, c.in)
		if err := callAt(got, "127.0.0.1:7"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(object(t, c.want).Object, got.Object); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestManifestsComeInOrderAndWithoutWorkloads(t *testing.T) {
	for _, base := range []string{"hub", "spoke", "nodeagent"} {
		objects, err := manifests(root, base, "127.0.0.1:7")
		if err != nil || len(objects) == 0 {
			t.Fatalf("%s: %d objects, %v", base, len(objects), err)
		}
		place := -10
		for _, o := range objects {
			if slices.Contains(workloads, o.GetKind()) {
				t.Errorf("%s: %s %s is there", base, o.GetKind(), o.GetName())
			}
			if now := order[o.GetKind()]; now < place {
				t.Errorf("%s: %s %s comes late", base, o.GetKind(), o.GetName())
			} else {
				place = now
			}
		}
	}
}

func TestAgentIsBoundInItsOwnNamespaceAlone(t *testing.T) {
	objects, err := agentObjects("member-7")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() == "Namespace" && o.GetName() == "member-7" {
			continue
		}
		if o.GetNamespace() != "member-7" {
			t.Errorf("%s %s is in %q", o.GetKind(), o.GetName(), o.GetNamespace())
		}
		subjects, _, err := unstructured.NestedSlice(o.Object, "subjects")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range subjects {
			want := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": agentIdentity("member-7").Groups[0]}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Error(diff)
			}
		}
	}
}
