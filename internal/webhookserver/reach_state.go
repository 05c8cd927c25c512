// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	// reachPath is where the API server sends the Leases of the prober. Its webhook is in the manifests with an
	// objectSelector for reachLabel: it fails where it is not reached, so that the error says why, and must never
	// be asked about a Lease by which somebody is elected.
	reachPath = "/reach-probe"
	// reachLabel is on the Leases that the prober creates as dry runs, and on nothing else. Its value is the
	// component: hub and spoke of one cluster are not asked about each other's.
	reachLabel = "internal.kruise.io/reach-probe"
	// reachChallenge is a random text; our handler repeats it as reachAnswer.
	reachChallenge = "internal.kruise.io/reach-challenge"
	reachAnswer    = "internal.kruise.io/reach-answer"
	// reachPatience is how long a bad verdict must hold before it is told: a Service has no endpoints for a
	// moment when all replicas are new.
	reachPatience = 15 * time.Second
	// reachReminder is how long after a bad verdict was told it is told again while it holds: events go after an hour.
	reachReminder = 30 * time.Minute
)

// Reason is what a probe found.
type Reason string

// The reasons; as events they start with "Webhooks".
const (
	// Reached: the API server reaches us.
	Reached Reason = "Reached"
	// NotReached: the API server asks us and gets no answer.
	NotReached Reason = "NotReached"
	// NotInstalled: the API server does not know that it should ask us.
	NotInstalled Reason = "NotInstalled"
	// NotTrusted: the API server reaches us, but certificates of somebody else are not as they should be.
	NotTrusted Reason = "NotTrusted"
	// Unknown: the API server itself could not be asked. It is not told.
	Unknown Reason = "Unknown"
)

type verdict struct {
	reason Reason
	note   string
}

// told is what the prober last said and when, and since when it finds something else.
type told struct {
	reason, other Reason
	at, since     time.Time
}

// next takes a verdict in and returns what is to be told now, if anything: a reason that differs from the one
// told last, a bad one only after it has held for reachPatience, and again each reachReminder.
func (t told) next(v verdict, now time.Time) (told, *verdict) {
	if v.reason == t.reason {
		if v.reason != Reached && now.Sub(t.at) >= reachReminder {
			return told{reason: v.reason, at: now}, &v
		}
		return told{reason: t.reason, at: t.at}, nil
	}
	if v.reason != t.other {
		t.other, t.since = v.reason, now
	}
	if v.reason != Reached && now.Sub(t.since) < reachPatience {
		return t, nil
	}
	return told{reason: v.reason, at: now}, &v
}

// answerProbe is the webhook that the prober makes the API server call.
func answerProbe(_ context.Context, req admission.Request) admission.Response {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(req.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	challenge, ok := obj.GetAnnotations()[reachChallenge]
	if !ok {
		return admission.Allowed("")
	}
	if err := unstructured.SetNestedField(obj.Object, challenge, "metadata", "annotations", reachAnswer); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	answer, err := obj.MarshalJSON()
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, answer)
}
