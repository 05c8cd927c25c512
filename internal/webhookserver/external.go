// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// With gate EnableExternalCerts somebody else writes the Secret (keys ca.crt, tls.crt, tls.key) and puts the
// authority into webhook configurations and CRDs. Nothing is written here. What is missing keeps the readiness
// check from passing at first, and is named by it. Once all was right it is only told (by the log here, and by the
// prober), and the last valid pair is served on: whatever is wrong then is so for every replica at once, as while an
// authority is replaced, and no endpoint at all is worse than one that some webhooks do not trust yet.

// lookExternal makes one pass in which nothing is written.
func (k *keeper) lookExternal(ctx context.Context) error {
	b, err := k.readBundle(ctx)
	if err != nil {
		return err
	}
	if err := b.valid(k.serverName(), k.clock.Now()); err != nil {
		k.report(ctx, "Secret %s/%s: %v: with feature gate EnableExternalCerts somebody else has to write ca.crt, tls.crt and tls.key there, for host %s",
			k.Namespace, k.Secret, err, k.serverName())
		return nil // its change wakes us
	}
	if err := k.serve(b); err != nil {
		return err
	}
	objects, err := k.tellable(ctx)
	if err != nil {
		return err
	}
	var without []string
	for _, obj := range objects {
		if !trusts(obj, b.authorityCert) {
			without = append(without, obj.GetKind()+" "+obj.GetName())
		}
	}
	if len(without) > 0 {
		k.report(ctx, "feature gate EnableExternalCerts is on, and caBundle is not ca.crt of Secret %s/%s in: %s",
			k.Namespace, k.Secret, strings.Join(without, ", "))
		return nil // their change wakes us
	}
	k.solved()
	return nil
}

// report notes a problem, and logs it if it is a new one.
func (k *keeper) report(ctx context.Context, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if last := k.problem.Swap(&text); last == nil || *last != text {
		log.FromContext(ctx).Error(nil, "External certificates are not as they should be", "component", k.Component, "why", text)
	}
}

// solved notes that there is no problem.
func (k *keeper) solved() {
	k.problem.Store(nil)
	k.trusted.Store(true)
}

// tellable returns what there is of our webhook configurations and of the CRDs that are converted.
func (k *keeper) tellable(ctx context.Context) ([]*unstructured.Unstructured, error) {
	out, err := k.configurations(ctx)
	if err != nil {
		return nil, err
	}
	crds, err := k.definitions(ctx)
	return append(out, crds...), err
}

// configurations returns what there is of our webhook configurations.
func (k *keeper) configurations(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, gvk := range configurationGVKs {
		cfg := newConfig(gvk)
		err := k.client.Get(ctx, client.ObjectKey{Name: k.Component}, cfg)
		if apierrors.IsNotFound(err) {
			continue // its creation wakes us
		}
		if err != nil {
			return nil, err
		}
		out = append(out, cfg)
	}
	return out, nil
}

// definitions returns our CRDs.
func (k *keeper) definitions(ctx context.Context) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(crdGVK)
	if err := k.client.List(ctx, list, client.MatchingLabelsSelector{Selector: partOfSelector()}); err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// trusts tells whether every webhook that an object names is believed by that authority.
func trusts(obj *unstructured.Unstructured, authority []byte) bool {
	var configs []map[string]any
	hooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
	for _, h := range hooks {
		hook, _ := h.(map[string]any)
		config, _ := hook["clientConfig"].(map[string]any)
		configs = append(configs, config)
	}
	if strategy, _, _ := unstructured.NestedString(obj.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
		config, _, _ := unstructured.NestedMap(obj.Object, "spec", "conversion", "webhook", "clientConfig")
		configs = append(configs, config)
	}
	for _, config := range configs {
		text, _ := config["caBundle"].(string)
		have, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !bytes.Equal(bytes.TrimSpace(have), bytes.TrimSpace(authority)) {
			return false
		}
	}
	return true
}
