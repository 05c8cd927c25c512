// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"bytes"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// takeFields makes fieldOwner the owner of what was written for the UnitedDeployment before: by our
// own creation, or by the controller that ran before us in this cluster. Otherwise fields that left
// the template would stay for ever, owned by a writer that no longer speaks. It asks the API server
// once for each workload, since caches hold no managedFields.
func (w *writer) takeFields(ctx context.Context, want *unstructured.Unstructured, uid types.UID) error {
	if w.ownsFields(uid) {
		return nil
	}
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(want.GroupVersionKind())
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(want), there); err != nil {
		return err
	}
	if managers := formerManagers(there.ManagedFields); managers.Len() > 0 {
		change, err := csaupgrade.UpgradeManagedFieldsPatch(there, managers, fieldOwner)
		if err != nil {
			return err
		}
		if change != nil {
			if err := w.Patch(ctx, there, client.RawPatch(types.JSONPatchType, change), lagging); err != nil {
				return err
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owned[uid] = true
	return nil
}

func (w *writer) ownsFields(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned[uid]
}

// formerManagers names who wrote the subset's revision label by a plain update: only a
// UnitedDeployment controller does.
func formerManagers(entries []metav1.ManagedFieldsEntry) sets.Set[string] {
	label := []byte(`"f:` + appsv1beta1.SubsetRevisionLabel + `"`)
	out := sets.New[string]()
	for _, e := range entries {
		if e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), label) {
			out.Insert(e.Manager)
		}
	}
	return out
}
