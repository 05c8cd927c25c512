// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWebhookPatch(t *testing.T) {
	service := &Options{Component: "c", Namespace: "ns", Service: "svc"}
	byURL := &Options{Component: "c", Namespace: "ns", Service: "svc", Host: "127.0.0.1", Port: 9}
	want := map[*Options]map[string]any{
		service: {"caBundle": "Y2E=", "service": map[string]any{"namespace": "ns", "name": "svc", "path": "/p", "port": float64(443)}},
		byURL:   {"caBundle": "Y2E=", "url": "https://127.0.0.1:9/p"},
	}
	for _, start := range []map[string]any{
		{"service": map[string]any{"namespace": "x", "name": "y", "path": "/p"}},
		{"url": "https://h:1/p", "caBundle": "b2xk"},
	} {
		for o, clientConfig := range want {
			cfg := newConfig(mutatingGVK)
			cfg.Object["webhooks"] = []any{map[string]any{"name": "w", "clientConfig": start, "timeoutSeconds": int64(5)}}
			patch, err := o.webhookPatch(cfg, []byte("ca"), true)
			if err != nil || patch == nil {
				t.Fatal(patch, err)
			}
			data, err := patch.Data(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			hook := got["webhooks"].([]any)[0].(map[string]any)
			if d := cmp.Diff(clientConfig, hook["clientConfig"]); d != "" {
				t.Error(d)
			}
			if hook["timeoutSeconds"] != float64(5) {
				t.Errorf("other fields are lost: %v", hook)
			}
			cfg.Object["webhooks"] = []any{map[string]any{"name": "w", "clientConfig": o.clientConfig(nil, "/p", []byte("ca"))}}
			if again, err := o.webhookPatch(cfg, []byte("ca"), true); again != nil || err != nil {
				t.Errorf("patch %v, error %v though all is there", again, err)
			}
		}
	}
}

func TestConversionPatchSkipsOthers(t *testing.T) {
	o := &Options{Component: "c", Namespace: "ns", Service: "svc"}
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": "None"}}}}
	if patch, err := o.conversionPatch(crd, []byte("ca")); patch != nil || err != nil {
		t.Errorf("patch %v, error %v", patch, err)
	}
	crd.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook"}
	patch, err := o.conversionPatch(crd, []byte("ca"))
	if patch == nil || err != nil {
		t.Fatalf("patch %v, error %v", patch, err)
	}
	_ = unstructured.SetNestedMap(crd.Object, o.clientConfig(nil, "/convert", []byte("ca")), "spec", "conversion", "webhook", "clientConfig")
	if again, _ := o.conversionPatch(crd, []byte("ca")); again != nil {
		t.Error("a patch though all is there")
	}
}
