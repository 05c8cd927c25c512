// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// apply does what the plan says. An object that was made or removed meanwhile comes back by its event.
func (r *Reconciler) apply(ctx context.Context, node string, npp *v1alpha1.NodePodProbe, p *plan) error {
	if p.action == keep {
		return nil
	}
	log.FromContext(ctx).V(1).Info("Writing", "action", p.action, "reason", p.reason, "pods", len(p.entries))
	switch p.action {
	case create:
		obj := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: v1alpha1.NodePodProbeSpec{PodProbes: p.entries}}
		err := r.client.Create(ctx, obj, fieldOwner)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	case update:
		return r.patch(ctx, npp, p.entries)
	case remove:
		err := r.client.Delete(ctx, npp.DeepCopy(), client.Preconditions{UID: &npp.UID})
		return client.IgnoreNotFound(err)
	case keep:
	}
	return nil
}

// patch replaces the entries of the very version that was looked at; a conflict is tried again by the caller.
func (r *Reconciler) patch(ctx context.Context, npp *v1alpha1.NodePodProbe, entries []v1alpha1.PodProbe) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": npp.UID, "resourceVersion": npp.ResourceVersion},
		"spec":     map[string]any{"podProbes": entries},
	})
	if err != nil {
		return err
	}
	target := &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: npp.Name}}
	return client.IgnoreNotFound(r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body), fieldOwner))
}
