// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/kindadmission"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/spoke/deletionprotection"
)

// hooks are all webhooks, in an empty cluster.
func hooks() map[string]*admission.Webhook {
	reader := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	return admissionWebhooks(Scheme(), kindadmission.Facts{Reader: reader}, podSteps{}, deletionprotection.Options{Reader: reader})
}

// TestWebhooksAreServed: what the API server is told of is served, and the other way round, in few seconds, and
// what we do not see is refused, but for new pods and those that are evicted.
func TestWebhooksAreServed(t *testing.T) {
	served, told := hooks(), map[string]bool{}
	for _, e := range testkit.Webhooks(t, "spoke") {
		if served[e.Path] == nil {
			t.Errorf("%s: nothing is served at %s", e.Name, e.Path)
		}
		told[e.Path] = true
		if *e.Timeout > 5 {
			t.Errorf("%s may take %d s", e.Name, *e.Timeout)
		}
		if opens := e.Name == "mpod.kb.io" || e.Name == "vpodeviction.kb.io"; (*e.Policy == admissionregistrationv1.Fail) == opens {
			t.Errorf("%s: failure policy %s", e.Name, *e.Policy)
		}
		deletion := slices.Contains(deletionprotection.Paths(), e.Path)
		if deletion != (metav1.FormatLabelSelector(e.Objects) == appsv1beta1.DeleteProtectionKey) {
			t.Errorf("%s is asked about objects %v", e.Name, e.Objects)
		}
		if (deletion || e.Name == "vpod.kb.io") != slices.Contains(e.Rules[0].Operations, admissionregistrationv1.Delete) {
			t.Errorf("%s is asked about %v", e.Name, e.Rules)
		}
		if e.Path != podWebhook && e.Match == nil {
			t.Errorf("%s does not say whether it is asked about other versions", e.Name)
		}
	}
	for path := range served {
		if !told[path] {
			t.Errorf("the API server is not told of %s", path)
		}
	}
}
