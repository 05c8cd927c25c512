// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/deletionprotection"
)

// pathGates are the webhooks that go away with gates: while none of them is on the API server is not asked to call
// them, and a call that comes yet is answered with yes.
var pathGates = []struct {
	gates []featuregate.Feature
	paths []string
}{
	{[]featuregate.Feature{features.PodWebhook}, []string{podWebhook}},
	{[]featuregate.Feature{features.PodUnavailableBudgetDeleteGate}, []string{podRemovals}},      // goes off with PodWebhook
	{[]featuregate.Feature{features.PodUnavailableBudgetUpdateGate}, []string{podUpdateWebhook}}, // goes off with PodWebhook
	{[]featuregate.Feature{features.ResourcesDeletionProtection}, deletionprotection.Paths()},
}

// pathOff tells whether the gates of a path are off.
func pathOff(path string) bool {
	for _, g := range pathGates {
		if slices.Contains(g.paths, path) {
			return !slices.ContainsFunc(g.gates, features.Enabled)
		}
	}
	return false
}

// kindGates are the kinds that are refused while their gate is off, at creation and at updates: their webhooks
// stay, for an object which nothing acts on would look as if it worked. A kind is as the paths of its webhooks
// end. Of several gates one must be on.
var kindGates = map[string][]featuregate.Feature{
	"containerrecreaterequest": {features.KruiseDaemon},
	"imagelistpulljob":         {features.ImagePullJobGate}, // goes off with KruiseDaemon
	"imagepulljob":             {features.ImagePullJobGate},
	"nodeimage":                {features.KruiseDaemon},
	"podprobemarker":           {features.PodProbeMarkerGate}, // goes off with KruiseDaemon
	"podunavailablebudget":     {features.PodUnavailableBudgetDeleteGate, features.PodUnavailableBudgetUpdateGate},
	"resourcedistribution":     {features.ResourceDistributionGate},
	"workloadspread":           {features.WorkloadSpread},
}

// gated makes the webhook at a path refuse its kind where that is gated off.
func gated(path string, hook *admission.Webhook) *admission.Webhook {
	kind := path[strings.LastIndex(path, "-")+1:]
	gates := kindGates[kind]
	if len(gates) == 0 || slices.ContainsFunc(gates, features.Enabled) {
		return hook
	}
	return &admission.Webhook{Handler: refusal{hook, gates}}
}

// refusal refuses what asks for something, and lets pass what takes it away.
type refusal struct {
	hook  *admission.Webhook
	gates []featuregate.Feature
}

// Handle refuses objects, but not those that are being deleted: finalizers must come off.
func (r refusal) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return r.hook.Handler.Handle(ctx, req) // there may be no object
	}
	obj := metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(req.Object.Raw, &obj); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if obj.DeletionTimestamp != nil {
		return r.hook.Handler.Handle(ctx, req)
	}
	status := apierrors.NewForbidden(schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}, req.Name, errors.New(r.String())).Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// String says which gate to switch on.
func (r refusal) String() string {
	names := make([]string, len(r.gates))
	for i, gate := range r.gates {
		names[i] = string(gate)
	}
	return fmt.Sprintf("feature-gate %s is not enabled: start flotilla-spoke with --feature-gates=%s=true", strings.Join(names, " or "), names[0])
}
