// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-sh/flotilla/internal/kindadmission"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// hooks are all webhooks, in an empty cluster.
func hooks() map[string]*admission.Webhook {
	reader := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	return admissionWebhooks(Scheme(), kindadmission.Facts{Reader: reader}, placementRules{})
}

// TestWebhooksAreServed: what the API server is told of is served, and the other way round, in few seconds, and
// what we do not see is refused.
func TestWebhooksAreServed(t *testing.T) {
	served := hooks()
	for _, e := range testkit.Webhooks(t, "hub") {
		if served[e.Path] == nil {
			t.Errorf("%s: nothing is served at %s", e.Name, e.Path)
		}
		delete(served, e.Path)
		if *e.Timeout > 5 {
			t.Errorf("%s may take %d s", e.Name, *e.Timeout)
		}
		if *e.Policy != admissionregistrationv1.Fail {
			t.Errorf("%s: failure policy %s", e.Name, *e.Policy)
		}
	}
	for path := range served {
		t.Errorf("the API server is not told of %s", path)
	}
}

// TestSpreadsOnTheHub: a WorkloadSpread is judged as in a member, and for what means nothing to clusters.
func TestSpreadsOnTheHub(t *testing.T) {
	const fields = `{"matchFields":[{"key":"metadata.name","operator":"In","values":["node"]}]}`
	subset := func(field, term string) string {
		return `{"metadata":{"name":"a","namespace":"default"},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"subsets":[{"name":"s","` + field + `":` + term + `}]}}`
	}
	for _, tc := range []struct{ path, version, object, want string }{
		{"/validate-apps-kruise-io-workloadspread", "v1beta1", subset("requiredNodeSelector", "{}"), ""},
		{"/validate-apps-kruise-io-workloadspread", "v1beta1", subset("requiredNodeSelector", fields), "spec.subsets[0].requiredNodeSelector.matchFields"},
		{"/validate-apps-kruise-io-workloadspread", "v1beta1", subset("maxReplicas", "-1"), "spec.subsets[0].maxReplicas"},
		{"/validate-apps-kruise-io-v1alpha1-workloadspread", "v1alpha1", subset("requiredNodeSelectorTerm", fields), "spec.subsets[0].requiredNodeSelectorTerm.matchFields"},
	} {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
		req.Object.Raw = []byte(strings.Replace(tc.object, "{", `{"apiVersion":"apps.kruise.io/`+tc.version+`","kind":"WorkloadSpread",`, 1))
		got := hooks()[tc.path].Handle(t.Context(), req)
		if got.Allowed != (tc.want == "") || !strings.Contains(got.Result.Message, tc.want) {
			t.Errorf("%s: %v %s", tc.object, got.Allowed, got.Result.Message)
		}
	}
}
