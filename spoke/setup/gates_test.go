// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/deletionprotection"
)

// switched sets gates until the test ends.
func switched(t *testing.T, on bool, gates ...featuregate.Feature) {
	t.Helper()
	before, now := map[string]bool{}, map[string]bool{}
	for _, gate := range gates {
		before[string(gate)], now[string(gate)] = features.Enabled(gate), on
	}
	if err := features.Gate.SetFromMap(now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := features.Gate.SetFromMap(before); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGatedKindsAreRefused: with a gate off, both versions of its kind are refused in words that name the gate,
// by whichever webhook comes first; deletions and objects that are being deleted pass. With it on, they are
// looked at as ever.
func TestGatedKindsAreRefused(t *testing.T) {
	served := hooks()
	for kind, gates := range kindGates {
		found := 0
		for path, hook := range served {
			if !strings.HasSuffix(path, "-"+kind) {
				continue
			}
			found++
			switched(t, true, gates[len(gates)-1])
			if gated(path, hook) != hook {
				t.Errorf("%s is refused though %v is on", path, gates[len(gates)-1])
			}
			switched(t, false, gates...)
			off := gated(path, hook)
			for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
				response := off.Handle(t.Context(), asked(operation, `{"metadata":{"name":"a"}}`))
				if response.Allowed || response.Result.Code != 403 || !strings.Contains(response.Result.Message, "feature-gate "+string(gates[0])) {
					t.Errorf("%s of %s: %+v", operation, path, response.Result)
				}
			}
			if response := off.Handle(t.Context(), asked(admissionv1.Delete, "")); !response.Allowed {
				t.Errorf("deletion at %s: %+v", path, response.Result)
			}
			goes := `{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}`
			if response := off.Handle(t.Context(), asked(admissionv1.Update, goes)); !response.Allowed && response.Result.Code == 403 {
				t.Errorf("one that is deleted, at %s: %+v", path, response.Result)
			}
		}
		if found == 0 {
			t.Errorf("no webhook is asked about %s", kind)
		}
	}
}

func asked(operation admissionv1.Operation, object string) admission.Request {
	out := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "u", Operation: operation}}
	out.Object.Raw = []byte(object)
	if operation != admissionv1.Create {
		out.OldObject.Raw = []byte(`{"metadata":{"name":"a"}}`)
	}
	return out
}

// TestPodWebhooksGoWithTheirGates: each goes with its own gates, and those of kinds stay.
func TestPodWebhooksGoWithTheirGates(t *testing.T) {
	all := []featuregate.Feature{features.PodWebhook, features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate, features.ResourcesDeletionProtection}
	for _, g := range pathGates {
		switched(t, true, all...)
		switched(t, false, g.gates...)
		for _, other := range pathGates {
			for _, path := range other.paths {
				if pathOff(path) != slices.Contains(g.paths, path) {
					t.Errorf("without %v: %s is off: %v", g.gates, path, pathOff(path))
				}
				if hooks()[path] == nil {
					t.Errorf("nothing is served at %s", path)
				}
			}
		}
		if pathOff("/validate-apps-kruise-io-cloneset") {
			t.Error("a kind's webhook is off")
		}
	}
}

// TestDeletionProtectionGoesWithItsGate, and with no other: PodWebhook has nothing to do with it (DP-02).
func TestDeletionProtectionGoesWithItsGate(t *testing.T) {
	off := func() (n int) {
		for _, path := range deletionprotection.Paths() {
			if pathOff(path) {
				n++
			}
		}
		return n
	}
	switched(t, false, features.ResourcesDeletionProtection)
	if off() != 10 || pathOff(podWebhook) {
		t.Errorf("%d webhooks go with the gate, pods' goes: %v", off(), pathOff(podWebhook))
	}
	switched(t, true, features.ResourcesDeletionProtection)
	switched(t, false, features.PodWebhook)
	if off() != 0 {
		t.Errorf("%d webhooks go without pods' webhook", off())
	}
}
