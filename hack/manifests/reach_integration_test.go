// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// TestWhetherWeAreReachedIsTold: metrics and events say that the API server reaches the spoke, that it does not,
// and what of the manifests is missing; nothing is stored for that.
func TestWhetherWeAreReachedIsTold(t *testing.T) {
	s := ship(t, []string{"apply", "-f", "-"})
	s.start()
	s.reached(1)
	for _, w := range s.server.Writes(t, component, time.Time{}) {
		if strings.Contains(w.Name, "reach") {
			t.Errorf("%+v", w)
		}
	}
	leases := coordinationv1.LeaseList{}
	if err := s.admin.List(t.Context(), &leases, client.InNamespace(namespace)); err != nil || len(leases.Items) != 1 {
		t.Errorf("there are %d Leases, want that of the leader (%v)", len(leases.Items), err)
	}

	here := &unstructured.Unstructured{}
	here.SetAPIVersion("discovery.k8s.io/v1")
	here.SetKind("EndpointSlice")
	if err := s.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: component + "-webhook"}, here); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.Delete(t.Context(), here.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	s.ourOwnPodsStart()
	here.SetResourceVersion("")
	if err := s.admin.Create(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	s.askAt(444) // a new address: the API server keeps a connection that works
	s.reached(0)
	s.event("WebhooksNotReached", "port 444", "Service flotilla-system/flotilla-spoke-webhook")
	s.askAt(443)
	s.reached(1)
	s.event("WebhooksReached", "reaches our webhooks")

	cfg := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: component}}
	if err := s.admin.Delete(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	s.event("WebhooksNotInstalled", "missing: MutatingWebhookConfiguration flotilla-spoke.", "apply our manifests again")
	s.apply()
	s.reached(1)
}

// ourOwnPodsStart wants pods of the system's and our namespace to be let in while our webhooks are away, though
// somebody made the pods' webhook stricter and broader than the manifests do.
func (s *shipped) ourOwnPodsStart() {
	s.t.Helper()
	s.change("mpod.kb.io", `{"op":"replace","path":"/failurePolicy","value":"Fail"},{"op":"remove","path":"/namespaceSelector"}`)
	in := func(ns string) error {
		obj := pod(0)
		obj.SetNamespace(ns)
		return client.NewDryRunClient(s.admin).Create(s.t.Context(), obj)
	}
	s.await("pods wait for the webhook", func(context.Context) error {
		if err := in("default"); err == nil {
			return fmt.Errorf("a pod is let in")
		}
		return nil
	})
	for _, ns := range []string{metav1.NamespaceSystem, namespace} {
		if err := in(ns); err != nil {
			s.t.Errorf("%s: %v", ns, err)
		}
	}
}

// askAt makes the API server call the probe's webhook at another port of the Service.
func (s *shipped) askAt(port int) {
	s.t.Helper()
	s.change("reach.internal.kruise.io", fmt.Sprintf(`{"op":"replace","path":"/clientConfig/service/port","value":%d}`, port))
}

// change changes a live webhook; paths are within it.
func (s *shipped) change(name, operations string) {
	s.t.Helper()
	cfg := &admissionv1.MutatingWebhookConfiguration{}
	if err := s.admin.Get(s.t.Context(), client.ObjectKey{Name: component}, cfg); err != nil {
		s.t.Fatal(err)
	}
	at := fmt.Sprint("/webhooks/", slices.IndexFunc(cfg.Webhooks, func(w admissionv1.MutatingWebhook) bool { return w.Name == name }))
	patch := fmt.Sprintf(`[{"op":"test","path":"%s/name","value":"%s"},%s]`, at, name, strings.ReplaceAll(operations, `"path":"`, `"path":"`+at))
	if err := s.admin.Patch(s.t.Context(), cfg, client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
		s.t.Fatal(err)
	}
}

// reached waits until the metrics say so.
func (s *shipped) reached(want float64) {
	s.t.Helper()
	s.await(fmt.Sprintf("flotilla_webhook_reachable is %v", want), func(context.Context) error {
		families, err := metrics.Registry.Gather()
		if err != nil {
			return err
		}
		for _, family := range families {
			if family.GetName() != "flotilla_webhook_reachable" {
				continue
			}
			for _, metric := range family.GetMetric() { // other tests of this process run other components
				if metric.GetLabel()[0].GetValue() == component && metric.GetGauge().GetValue() == want {
					return nil
				}
			}
		}
		return fmt.Errorf("it is not, or not there")
	})
}

// event waits for an event about the Service that says all of these.
func (s *shipped) event(reason string, says ...string) {
	s.t.Helper()
	s.await("there is an event "+reason, func(ctx context.Context) error {
		list := eventsv1.EventList{}
		if err := s.admin.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		var have []string
		for _, e := range list.Items {
			have = append(have, e.Reason+": "+e.Note)
			if e.Reason == reason && e.Regarding.Kind == "Service" && !slices.ContainsFunc(says, func(text string) bool { return !strings.Contains(e.Note, text) }) {
				return nil
			}
		}
		return fmt.Errorf("there are %q", have)
	})
}

// TestExternalCertificates: with the gate on, the spoke serves what somebody else put into the Secret, writes
// nothing, and is not ready until the authority was everywhere once.
func TestExternalCertificates(t *testing.T) {
	switchGates(t, map[string]bool{"EnableExternalCerts": true})
	s := ship(t, []string{"apply", "-f", "-"})
	hooks := s.hooks()
	startIn(t, s.server, "spoke", hooks)
	s.awaitReady(hooks, "Secret flotilla-system/flotilla-spoke-webhook-certs")
	authority := s.certificates()
	s.awaitReady(hooks, "caBundle is not ca.crt", "MutatingWebhookConfiguration flotilla-spoke", "CustomResourceDefinition clonesets.apps.kruise.io")
	for _, obj := range s.objects {
		s.trust(obj, authority)
	}
	s.awaitReady(hooks)
	if err := s.admin.Create(t.Context(), cloneSet("v1alpha1")(0)); err != nil {
		t.Error(err)
	}
	s.badCertificatesAreTold(hooks, authority)
	s.wroteNothing(time.Time{})
}

// badCertificatesAreTold wants the spoke to serve on, and to say what is wrong, when somebody changes the authority in
// one place, and when somebody spoils the Secret.
func (s *shipped) badCertificatesAreTold(hooks *webhookserver.Options, authority []byte) {
	s.t.Helper()
	other, _, _ := certificatesFor(s.t, "elsewhere")
	i := slices.IndexFunc(s.objects, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == "ValidatingWebhookConfiguration" })
	s.trust(s.objects[i], other)
	s.event("WebhooksNotTrusted", "caBundle is not ca.crt", "ValidatingWebhookConfiguration flotilla-spoke")
	s.reached(0)
	s.awaitReady(hooks)
	s.trust(s.objects[i], authority)
	s.reached(1)

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: component + "-webhook-certs"}}
	spoil := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"tls.crt":null}}`))
	if err := s.admin.Patch(s.t.Context(), secret, spoil); err != nil {
		s.t.Fatal(err)
	}
	s.reached(0) // within minutes, an event of the same reason only counts up
	s.awaitReady(hooks)
	if err := client.NewDryRunClient(s.admin).Create(s.t.Context(), cloneSet("v1alpha1")(1)); err != nil {
		s.t.Error(err)
	}
}

// certificates makes a Secret as another program would, and returns its authority.
func (s *shipped) certificates() []byte {
	s.t.Helper()
	host := component + "-webhook." + namespace + ".svc"
	authority, pair, key := certificatesFor(s.t, host)
	err := s.admin.Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: component + "-webhook-certs"},
		Data:       map[string][]byte{"ca.crt": authority, "tls.crt": pair, "tls.key": key},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return authority
}

// trust puts an authority into an object's webhooks, if it has any.
func (s *shipped) trust(obj *unstructured.Unstructured, authority []byte) {
	s.t.Helper()
	live := obj.DeepCopy()
	if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(obj), live); err != nil {
		s.t.Fatal(err)
	}
	body := map[string]any{}
	if hooks, _, _ := unstructured.NestedSlice(live.Object, "webhooks"); len(hooks) > 0 {
		for _, h := range hooks {
			h.(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = authority
		}
		body["webhooks"] = hooks
	}
	if strategy, _, _ := unstructured.NestedString(live.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
		body["spec"] = map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": authority}}}}
	}
	if len(body) == 0 {
		return
	}
	data, err := json.Marshal(body)
	if err == nil {
		err = s.admin.Patch(s.t.Context(), live, client.RawPatch("application/merge-patch+json", data))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
