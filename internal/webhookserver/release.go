// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner is the name under which the keeper writes.
func (o *Options) owner() string { return o.Component + "-webhooks" }

// releasePatch returns the patch by which the keeper gives up what it owns of a configuration, or nil when it owns
// nothing. The manifests stay its only owner, whatever the keeper has put in, taken out or put back: else a
// server-side apply of newer manifests would be refused over a webhook that was set aside for a while, and one that
// drops a webhook would leave a piece of it behind.
func (o *Options) releasePatch(cfg *unstructured.Unstructured) (client.Patch, error) {
	owners := cfg.GetManagedFields()
	others := slices.DeleteFunc(slices.Clone(owners), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == o.owner() })
	if len(others) == len(owners) || len(others) == 0 { // an empty list would make the API server begin anew
		return nil, nil
	}
	return mergePatch(cfg, map[string]any{"metadata": map[string]any{"managedFields": others}})
}
