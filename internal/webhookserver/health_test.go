// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func freshBundle(t *testing.T, host string) bundle {
	t.Helper()
	b, err := bundle{}.renew(host, time.Now(), year)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReady: ready is who has certificates, that are trusted, and whose server answers with them.
func TestReady(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != healthPath {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	o := NewOptions("c", "ns")
	o.Port = server.Listener.Addr().(*net.TCPAddr).Port
	k := &keeper{Options: o}
	b := freshBundle(t, o.serverName())
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return o.serving.Load().pair, nil }}
	probe := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	want := func(text string) {
		t.Helper()
		err := o.Ready(probe)
		if (err == nil) != (text == "") || (err != nil && !strings.Contains(err.Error(), text)) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	want("no certificate yet in Secret ns/c-webhook-certs")
	if err := k.serve(b); err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	want("does not answer")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener, o.Port = listener, listener.Addr().(*net.TCPAddr).Port
	server.StartTLS()
	defer server.Close()
	want("")
	k.report(t.Context(), "nobody trusts %s", "us")
	want("nobody trusts us")
	k.solved()
	want("")
	k.report(t.Context(), "nobody trusts %s any more", "us")
	want("") // all replicas would go at once
	other := freshBundle(t, "other.ns.svc")
	if err := k.serve(other); err != nil {
		t.Fatal(err)
	}
	want("does not answer")
}

func TestTrusts(t *testing.T) {
	ours := []byte("ca\n")
	entry := func(ca string) any {
		return map[string]any{"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString([]byte(ca))}}
	}
	crd := func(strategy, ca string) map[string]any {
		return map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": strategy, "webhook": entry(ca)}}}
	}
	for name, tc := range map[string]struct {
		object map[string]any
		want   bool
	}{
		"all":             {map[string]any{"webhooks": []any{entry("ca\n"), entry("ca")}}, true},
		"one has none":    {map[string]any{"webhooks": []any{entry("ca"), map[string]any{}}}, false},
		"one has another": {map[string]any{"webhooks": []any{entry("other"), entry("ca")}}, false},
		"converted":       {crd("Webhook", "ca"), true},
		"by another":      {crd("Webhook", "old"), false},
		"not converted":   {crd("None", "old"), true},
	} {
		if got := trusts(&unstructured.Unstructured{Object: tc.object}, ours); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is gated off, or not known at all, says yes; what is not, is asked.
func TestServe(t *testing.T) {
	refuse := &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Denied("no") })}
	o := NewOptions("c", "ns")
	server := webhook.NewServer(webhook.Options{})
	o.Serve(server, map[string]*admission.Webhook{"/on": refuse, "/off": refuse}, func(path string) bool { return path == "/off" })
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","object":{}}}`
	got := map[string]string{}
	for _, path := range []string{"/on", "/off", "/from-the-future"} {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodPost, path, bytes.NewBufferString(review))
		request.Header.Set("Content-Type", "application/json")
		server.WebhookMux().ServeHTTP(recorder, request)
		switch body := recorder.Body.String(); {
		case strings.Contains(body, `"allowed":true`) && strings.Contains(body, "older than"):
			got[path] = "warned"
		case strings.Contains(body, `"allowed":true`):
			got[path] = "allowed"
		case strings.Contains(body, `"allowed":false`):
			got[path] = "refused"
		}
	}
	if d := cmp.Diff(map[string]string{"/on": "refused", "/off": "allowed", "/from-the-future": "warned"}, got); d != "" {
		t.Error(d)
	}
	if !o.gatedOff("/off") || o.gatedOff("/on") || !o.serves("/off") || !o.serves(reachPath) || o.serves("/from-the-future") {
		t.Error("what is served is not known")
	}
}
