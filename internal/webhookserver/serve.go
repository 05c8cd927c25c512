// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// healthPath answers 200 as soon as the server serves.
const healthPath = "/healthz"

// Serve registers admission webhooks by path; off tells which are gated off. The keeper takes those out of the
// configurations, but may be a moment late, after the manifests were applied again: they answer allow until
// then. So does a path that is not served at all: while a component is upgraded, the manifests may be newer
// than the replica that is asked. Call it before AddKeeper.
func (o *Options) Serve(server webhook.Server, hooks map[string]*admission.Webhook, off func(path string) bool) {
	o.served = map[string]bool{}
	for path, hook := range hooks {
		o.served[path] = off(path)
		if off(path) {
			hook = allow("")
		}
		server.Register(path, hook)
	}
	server.Register(reachPath, &admission.Webhook{Handler: admission.HandlerFunc(answerProbe)})
	server.Register(healthPath, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	server.Register("/", allow(o.Component+" is older than its webhook configuration and did not look at this object"))
}

// allow is a webhook that lets all pass, with a warning if there is one to give.
func allow(warning string) *admission.Webhook {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		response := admission.Allowed("")
		if warning != "" {
			response.Warnings = []string{warning}
		}
		return response
	})}
}

// gatedOff tells whether a path's feature gate is off.
func (o *Options) gatedOff(path string) bool { return o.served[path] }

// serves tells whether a path is an admission webhook of ours.
func (o *Options) serves(path string) bool {
	_, ok := o.served[path]
	return ok || path == reachPath
}
