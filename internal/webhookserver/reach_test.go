// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func TestJudge(t *testing.T) {
	called := errors.New(`Internal error occurred: failed calling webhook "reach.internal.kruise.io": failed to call webhook: no endpoints available`)
	for name, tc := range map[string]struct {
		host     string
		missing  []string
		answered bool
		err      error
		want     Reason
		says     string
	}{
		"answered":                 {"", nil, true, nil, Reached, "reaches"},
		"no answer":                {"", nil, false, nil, NotReached, "Service ns/svc"},
		"fails":                    {"", nil, false, called, NotReached, "no endpoints available"},
		"fails at an address":      {"10.0.0.1", nil, false, called, NotReached, "10.0.0.1, port 9"},
		"configuration is missing": {"", []string{"ValidatingWebhookConfiguration c"}, true, nil, NotInstalled, "missing: ValidatingWebhookConfiguration c."},
		"the API server is away":   {"", nil, false, errors.New("connection refused"), Unknown, "connection refused"},
	} {
		p := &prober{Options: &Options{Component: "c", Namespace: "ns", Service: "svc", Host: tc.host, Port: 9}}
		if v := p.judge(tc.missing, tc.answered, tc.err); v.reason != tc.want || !strings.Contains(v.note, tc.says) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// What is wrong with somebody else's certificates is told, whether we are reached or not.
func TestProblemIsTold(t *testing.T) {
	p := &prober{Options: &Options{}}
	for _, reason := range []Reason{Reached, NotReached, NotInstalled, Unknown} {
		if v := p.withProblem(verdict{reason, "n"}); v != (verdict{reason, "n"}) {
			t.Errorf("%s without a problem: %+v", reason, v)
		}
	}
	text := "the Secret is spoilt"
	p.problem.Store(&text)
	for found, want := range map[Reason]Reason{Reached: NotTrusted, NotReached: NotReached} {
		if v := p.withProblem(verdict{found, "n"}); v.reason != want || !strings.Contains(v.note, text) {
			t.Errorf("%s: %+v", found, v)
		}
	}
	if v := p.withProblem(verdict{NotInstalled, "n"}); v.reason != NotInstalled {
		t.Errorf("%+v", v)
	}
}

// What changes is told once, and what is bad only when it lasts, and again while it does.
func TestTold(t *testing.T) {
	now := time.Unix(0, 0)
	var state told
	for i, step := range []struct {
		after time.Duration
		found Reason
		want  Reason // "": nothing is told
	}{
		{0, NotReached, ""},
		{reachAgain, Reached, Reached},
		{time.Minute, Reached, ""},
		{time.Minute, NotReached, ""},
		{reachAgain, NotReached, ""},
		{reachAgain, NotReached, ""},
		{reachAgain, NotReached, NotReached},
		{reachAgain, NotReached, ""},
		{reachReminder - 2*reachAgain, NotReached, ""},
		{reachAgain, NotReached, NotReached},
		{reachReminder - reachAgain, Reached, Reached},
		{2 * reachReminder, Reached, ""},
		{reachAgain, NotReached, ""},
		{reachPatience, NotReached, NotReached},
		{reachAgain, NotInstalled, ""},
		{reachAgain, NotReached, ""},
		{reachAgain, NotInstalled, ""},
		{reachPatience, NotInstalled, NotInstalled},
		{reachAgain, Reached, Reached},
	} {
		now = now.Add(step.after)
		var change *verdict
		state, change = state.next(verdict{reason: step.found, note: "n"}, now)
		var got Reason
		if change != nil {
			got = change.reason
		}
		if got != step.want {
			t.Errorf("step %d: told %q, want %q", i, got, step.want)
		}
	}
}

func TestAnswerProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		object  string
		allowed bool
		patches int
	}{
		"challenge":    {`{"apiVersion":"v1","kind":"Lease","metadata":{"annotations":{"internal.kruise.io/reach-challenge":"x"}}}`, true, 1},
		"none":         {`{"apiVersion":"v1","kind":"Lease","metadata":{}}`, true, 0},
		"no object":    {`x`, false, 0},
		"spoilt field": {`{"apiVersion":"v1","kind":"Lease","metadata":{"annotations":"x"}}`, true, 0},
	} {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "u"}}
		req.Object.Raw = []byte(tc.object)
		response := answerProbe(t.Context(), req)
		if response.Allowed != tc.allowed || len(response.Patches) != tc.patches {
			t.Errorf("%s: %+v", name, response)
		}
		for _, p := range response.Patches {
			if p.Value != "x" || p.Path != "/metadata/annotations/internal.kruise.io~1reach-answer" {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}
