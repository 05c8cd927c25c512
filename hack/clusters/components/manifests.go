// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// workloads are the kinds that processes stand for.
var workloads = []string{"Deployment", "DaemonSet", "Service", "PodDisruptionBudget", "ServiceMonitor", "NetworkPolicy"}

// order in which kinds are applied; others go between.
var order = map[string]int{
	"Namespace": -2, "CustomResourceDefinition": -1,
	"MutatingWebhookConfiguration": 1, "ValidatingWebhookConfiguration": 2,
}

// manifests builds the kustomize base and returns its objects without workloads, in the order to apply them. Webhooks
// are called at address (host:port) instead of a Service.
func manifests(root, base, address string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "kustomize", base))
	if err != nil {
		return nil, fmt.Errorf("build kustomize/%s: %w", base, err)
	}
	var objects []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		if slices.Contains(workloads, r.GetKind()) {
			continue
		}
		raw, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		if err := callAt(u, address); err != nil {
			return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
		objects = append(objects, u)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return order[a.GetKind()] - order[b.GetKind()] })
	return objects, nil
}

// callAt makes the object's webhooks be called at the address. Which authority to trust there the component itself puts
// in.
func callAt(u *unstructured.Unstructured, address string) error {
	switch u.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, h := range hooks {
			hook, ok := h.(map[string]any)
			if !ok {
				return fmt.Errorf("a webhook is a %T", h)
			}
			path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			hook["clientConfig"] = map[string]any{"url": "https://" + address + path}
		}
		return unstructured.SetNestedSlice(u.Object, hooks, "webhooks")
	case "CustomResourceDefinition":
		_, converts, err := unstructured.NestedMap(u.Object, "spec", "conversion", "webhook", "clientConfig")
		if err != nil || !converts {
			return err
		}
		config := map[string]any{"url": "https://" + address + "/convert"}
		return unstructured.SetNestedMap(u.Object, config, "spec", "conversion", "webhook", "clientConfig")
	}
	return nil
}
