// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/internal/kindadmission"
)

// entry is one webhook as the API server is told of it.
type entry struct {
	name, path string
	mutating   bool
	policy     *admissionregistrationv1.FailurePolicyType
	match      *admissionregistrationv1.MatchPolicyType
	timeout    *int32
	rules      []admissionregistrationv1.RuleWithOperations
}

// entries reads the generated webhook configurations.
func entries(t *testing.T) []entry {
	t.Helper()
	data, err := os.ReadFile("../../generated/manifests/webhook/spoke/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []entry
	for _, document := range strings.Split(string(data), "\n---\n") {
		mutating, validating := admissionregistrationv1.MutatingWebhookConfiguration{}, admissionregistrationv1.ValidatingWebhookConfiguration{}
		if strings.Contains(document, "kind: Mutating") {
			read(t, []byte(document), &mutating)
		} else {
			read(t, []byte(document), &validating)
		}
		for _, w := range mutating.Webhooks {
			out = append(out, entry{w.Name, *w.ClientConfig.Service.Path, true, w.FailurePolicy, w.MatchPolicy, w.TimeoutSeconds, w.Rules})
		}
		for _, w := range validating.Webhooks {
			out = append(out, entry{w.Name, *w.ClientConfig.Service.Path, false, w.FailurePolicy, w.MatchPolicy, w.TimeoutSeconds, w.Rules})
		}
	}
	return out
}

func read(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(err)
	}
}

// hooks are all webhooks, in an empty cluster.
func hooks() map[string]*admission.Webhook {
	reader := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	return admissionWebhooks(Scheme(), kindadmission.Facts{Reader: reader})
}

// TestWebhooksAreServed: what the API server is told of is served, and the other way round, in few seconds, and
// what we do not see is refused, but for pods.
func TestWebhooksAreServed(t *testing.T) {
	served := hooks()
	for _, e := range entries(t) {
		if served[e.path] == nil {
			t.Errorf("%s: nothing is served at %s", e.name, e.path)
		}
		delete(served, e.path)
		if *e.timeout > 5 {
			t.Errorf("%s may take %d s", e.name, *e.timeout)
		}
		if (*e.policy == admissionregistrationv1.Fail) != (e.path != podWebhook) {
			t.Errorf("%s: failure policy %s", e.name, *e.policy)
		}
		if e.path != podWebhook && e.match == nil {
			t.Errorf("%s does not say whether it is asked about other versions", e.name)
		}
	}
	for path := range served {
		t.Errorf("the API server is not told of %s", path)
	}
}
