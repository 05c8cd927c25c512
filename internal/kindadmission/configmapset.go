// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// configMapSet checks a ConfigMapSet for itself, then its sidecar and its peers.
func (f Facts) configMapSet(ctx context.Context, old, obj *appsv1alpha1.ConfigMapSet) (admission.Warnings, field.ErrorList, error) {
	problems := validation.ValidateConfigMapSet(old, obj)
	if len(problems) > 0 || (old != nil && equality.Semantic.DeepEqual(old.Spec, obj.Spec)) {
		return nil, problems, nil
	}
	warnings, problems, err := f.reloadSidecar(ctx, obj)
	if err != nil || len(problems) > 0 {
		return warnings, problems, err
	}
	sets := appsv1alpha1.ConfigMapSetList{}
	if err := f.List(ctx, &sets, client.InNamespace(obj.Namespace)); err != nil {
		return warnings, nil, err
	}
	var peers []validation.ConfigMapSetPeer
	for i := range sets.Items {
		if sets.Items[i].DeletionTimestamp.IsZero() {
			peers = append(peers, peerOf(&sets.Items[i]))
		}
	}
	more, conflicts := validation.ConfigMapSetConflicts(peerOf(obj), peers)
	warnings = append(warnings, more...)
	if len(conflicts) > 0 {
		return warnings, nil, apierrors.NewConflict(appsv1alpha1.Resource("configmapsets"), obj.Name, conflicts.ToAggregate())
	}
	return warnings, nil, nil
}

// reloadSidecar checks what a set takes its sidecar from.
func (f Facts) reloadSidecar(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (admission.Warnings, field.ErrorList, error) {
	if f.Member == nil || obj.Spec.ReloadSidecarConfig == nil {
		return nil, nil, nil
	}
	source, err := f.Member.ReloadSidecar(ctx, obj)
	if err != nil {
		return nil, nil, err
	}
	warnings, problems := validation.ValidateReloadSidecar(obj, source)
	return warnings, problems, nil
}

// peerOf names the sidecar that a set brings where the set itself says it.
func peerOf(set *appsv1alpha1.ConfigMapSet) validation.ConfigMapSetPeer {
	peer := validation.ConfigMapSetPeer{Set: set}
	if config := set.Spec.ReloadSidecarConfig; config != nil && config.Type == appsv1alpha1.ReloadSidecarTypeK8s && config.Config != nil {
		peer.Sidecar = config.Config.Name
	}
	return peer
}
