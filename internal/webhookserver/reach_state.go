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
	// reachLabel is on the Leases that the prober creates as dry runs, and on nothing else.
	reachLabel = "internal.kruise.io/reach-probe"
	// reachChallenge is a random text; our handler repeats it as reachAnswer.
	reachChallenge = "internal.kruise.io/reach-challenge"
	reachAnswer    = "internal.kruise.io/reach-answer"
	// reachPatience is how long a bad verdict must hold before it is told: a Service has no endpoints for a
	// moment when all replicas are new.
	reachPatience = 15 * time.Second
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
	// Unknown: the API server itself could not be asked. It is not told.
	Unknown Reason = "Unknown"
)

type verdict struct {
	reason Reason
	note   string
}

// told is what the prober last said, and since when it finds something else.
type told struct {
	reason, other Reason
	since         time.Time
}

// next takes a verdict in and returns what is to be told now, if anything: a reason that differs from the one
// told last, a bad one only after it has held for reachPatience.
func (t told) next(v verdict, now time.Time) (told, *verdict) {
	if v.reason == t.reason {
		return told{reason: t.reason}, nil
	}
	if v.reason != t.other {
		t.other, t.since = v.reason, now
	}
	if v.reason != Reached && now.Sub(t.since) < reachPatience {
		return t, nil
	}
	return told{reason: v.reason}, &v
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
