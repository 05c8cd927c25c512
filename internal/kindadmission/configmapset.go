// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
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
	if err == nil && len(problems) == 0 {
		problems, err = f.room(ctx, old, obj)
	}
	if err != nil || len(problems) > 0 {
		return warnings, problems, err
	}
	conflicts, more, err := f.besidePeers(ctx, obj)
	warnings = append(warnings, more...)
	if err == nil && len(conflicts) > 0 {
		err = apierrors.NewConflict(appsv1alpha1.Resource("configmapsets"), obj.Name, conflicts.ToAggregate())
	}
	return warnings, nil, err
}

// room checks that the content has room beside the revisions that pods use.
func (f Facts) room(ctx context.Context, old, obj *appsv1alpha1.ConfigMapSet) (field.ErrorList, error) {
	if f.Member == nil || old != nil && old.Spec.CustomVersion == obj.Spec.CustomVersion &&
		equality.Semantic.DeepEqual(old.Spec.Data, obj.Spec.Data) && ptr.Equal(old.Spec.RevisionHistoryLimit, obj.Spec.RevisionHistoryLimit) {
		return nil, nil
	}
	history, err := f.Member.ConfigMapSetHistory(ctx, obj)
	if err != nil {
		return nil, err
	}
	return validation.ValidateConfigMapSetHistory(obj, history), nil
}

// besidePeers says what a set cannot have in a pod, and what it may not be able to, because of its peers.
func (f Facts) besidePeers(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (conflicts field.ErrorList, warnings []string, err error) {
	sets := appsv1alpha1.ConfigMapSetList{}
	if err := f.List(ctx, &sets, client.InNamespace(obj.Namespace)); err != nil {
		return nil, nil, err
	}
	names := sidecarNames{facts: f, custom: map[appsv1alpha1.ReloadSidecarConfigMapRef]string{}}
	me, err := names.peer(ctx, obj)
	if err != nil {
		return nil, nil, err
	}
	var peers []validation.ConfigMapSetPeer
	for i := range sets.Items {
		if !sets.Items[i].DeletionTimestamp.IsZero() {
			continue
		}
		peer, err := names.peer(ctx, &sets.Items[i])
		if err != nil {
			return nil, nil, err
		}
		peers = append(peers, peer)
	}
	warnings, conflicts = validation.ConfigMapSetConflicts(me, peers)
	return conflicts, warnings, nil
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

// sidecarNames finds the names of the containers that sets bring, reading each ConfigMap once.
type sidecarNames struct {
	facts  Facts
	custom map[appsv1alpha1.ReloadSidecarConfigMapRef]string
}

// peer names the sidecar that a set brings. Of a container that is not named, or that is ours, the name is made of
// the set's: no other has it.
func (n sidecarNames) peer(ctx context.Context, set *appsv1alpha1.ConfigMapSet) (validation.ConfigMapSetPeer, error) {
	out := validation.ConfigMapSetPeer{Set: set}
	config := set.Spec.ReloadSidecarConfig
	if config == nil || config.Config == nil {
		return out, nil
	}
	switch ref := config.Config.ConfigMapRef; {
	case config.Type == appsv1alpha1.ReloadSidecarTypeK8s:
		out.Sidecar = config.Config.Name
	case config.Type == appsv1alpha1.ReloadSidecarTypeCustom && ref != nil && n.facts.Member != nil:
		name, known := n.custom[*ref]
		if !known {
			source, err := n.facts.Member.ReloadSidecar(ctx, set)
			if err != nil {
				return out, err
			}
			if container, err := appsv1alpha1.ParseReloadSidecar(source.ConfigMap[appsv1alpha1.ConfigMapSetSidecarKey]); err == nil {
				name = container.Name
			}
			n.custom[*ref] = name
		}
		out.Sidecar = name
	}
	return out, nil
}
