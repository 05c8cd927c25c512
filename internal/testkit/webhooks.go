// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Webhook is one admission webhook as the API server is told of it.
type Webhook struct {
	Name, Path string
	Mutating   bool
	Policy     *admissionregistrationv1.FailurePolicyType
	Match      *admissionregistrationv1.MatchPolicyType
	Timeout    *int32
	Rules      []admissionregistrationv1.RuleWithOperations
	// Objects selects what is asked about; nil: all.
	Objects *metav1.LabelSelector
}

// Webhooks reads the webhook configurations that are generated for a component: hub or spoke.
func Webhooks(t TB, component string) []Webhook {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(), "generated", "manifests", "webhook", component, "manifests.yaml"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out []Webhook
	for _, document := range strings.Split(string(data), "\n---\n") {
		mutating, validating := admissionregistrationv1.MutatingWebhookConfiguration{}, admissionregistrationv1.ValidatingWebhookConfiguration{}
		if strings.Contains(document, "kind: Mutating") {
			err = yaml.UnmarshalStrict([]byte(document), &mutating)
		} else {
			err = yaml.UnmarshalStrict([]byte(document), &validating)
		}
		if err != nil {
			t.Fatalf("webhooks of the %s: %v", component, err)
		}
		for _, w := range mutating.Webhooks {
			out = append(out, Webhook{w.Name, *w.ClientConfig.Service.Path, true, w.FailurePolicy, w.MatchPolicy, w.TimeoutSeconds, w.Rules, w.ObjectSelector})
		}
		for _, w := range validating.Webhooks {
			out = append(out, Webhook{w.Name, *w.ClientConfig.Service.Path, false, w.FailurePolicy, w.MatchPolicy, w.TimeoutSeconds, w.Rules, w.ObjectSelector})
		}
	}
	return out
}
