// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	mutatingGVK   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
	validatingGVK = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	crdGVK        = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// configurationGVKs are the kinds of webhook configurations; each component has one of each, of its name.
var configurationGVKs = []schema.GroupVersionKind{mutatingGVK, validatingGVK}

func newConfig(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

func partOfSelector() labels.Selector { return labels.SelectorFromSet(labels.Set{PartOfLabel: PartOf}) }

// stripSchemas keeps of a CRD what the keeper reads: the schemas are most of its size.
func stripSchemas(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(u.Object, "spec", "versions")
	unstructured.RemoveNestedField(u.Object, "status")
	return u, nil
}

// clientConfig is the address and trust to put into one webhook that has have. The Service's port stays what the
// manifests say.
func (o *Options) clientConfig(have map[string]any, path string, authority []byte) map[string]any {
	out := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(authority)}
	if o.Host != "" {
		out["url"] = "https://" + net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) + path
		return out
	}
	port, ok, _ := unstructured.NestedInt64(have, "service", "port")
	if !ok {
		port = 443
	}
	out["service"] = map[string]any{"namespace": o.Namespace, "name": o.Service, "path": path, "port": port}
	return out
}

// webhookPatch returns the patch that makes a configuration what it must be, or nil when it is: address and
// trust are in every webhook, none asks about our own pods, and, where gates says so, those that are gated off
// are set aside and the others are live.
func (o *Options) webhookPatch(cfg *unstructured.Unstructured, authority []byte, gates bool) (client.Patch, error) {
	now, err := entriesOf(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", cfg.GetKind(), cfg.GetName(), err)
	}
	want, changed := now, false
	if gates {
		want = sortOut(now, o.gatedOff, o.serves)
		changed = !sameNames(want.live, now.live) || !sameNames(want.aside, now.aside)
	}
	for _, h := range want.live {
		hook, ok := h.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s %s: a webhook is not an object", cfg.GetKind(), cfg.GetName())
		}
		have, _, _ := unstructured.NestedMap(hook, "clientConfig")
		if config := o.clientConfig(have, pathOf(have), authority); !reflect.DeepEqual(have, config) {
			hook["clientConfig"], changed = config, true
		}
		changed = o.exclude(hook) || changed
	}
	if !changed {
		return nil, nil
	}
	body := map[string]any{"webhooks": want.live}
	if !gates {
		return mergePatch(cfg, body)
	}
	text, err := want.asideText()
	if err != nil {
		return nil, err
	}
	body["metadata"] = map[string]any{"annotations": map[string]any{asideAnnotation: text}}
	return mergePatch(cfg, body)
}

// conversionPatch returns the patch that does the same for a CRD's conversion webhook.
func (o *Options) conversionPatch(crd *unstructured.Unstructured, authority []byte) (client.Patch, error) {
	strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
	if strategy != "Webhook" {
		return nil, nil
	}
	have, _, _ := unstructured.NestedMap(crd.Object, "spec", "conversion", "webhook", "clientConfig")
	want := o.clientConfig(have, "/convert", authority)
	if reflect.DeepEqual(have, want) {
		return nil, nil
	}
	for _, key := range []string{"url", "service"} {
		if _, ok := want[key]; !ok {
			want[key] = nil
		}
	}
	return mergePatch(crd, map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": want}}}})
}

// mergePatch carries the resourceVersion it was computed from, so that a list which somebody changed
// in the meantime is not overwritten.
func mergePatch(obj *unstructured.Unstructured, body map[string]any) (client.Patch, error) {
	metadata, ok := body["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		body["metadata"] = metadata
	}
	metadata["resourceVersion"] = obj.GetResourceVersion()
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch("application/merge-patch+json", data), nil
}

// pathOf returns the path a clientConfig names, of its service or its url.
func pathOf(clientConfig map[string]any) string {
	if path, ok, _ := unstructured.NestedString(clientConfig, "service", "path"); ok {
		return path
	}
	raw, _, _ := unstructured.NestedString(clientConfig, "url")
	if u, err := url.Parse(raw); err == nil {
		return u.Path
	}
	return ""
}
