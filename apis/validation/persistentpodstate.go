// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// PersistentPodStateContext is what has to be known of a cluster to judge a PersistentPodState. Its zero
// value judges the object alone.
type PersistentPodStateContext struct {
	// Others are the PersistentPodStates of the namespace; the object itself may be among them.
	Others []v1beta1.PersistentPodState
	// Allowed are the kinds of workloads that the administrator allowed besides StatefulSets.
	Allowed []schema.GroupKind
}

// ValidatePersistentPodState says what is wrong with a PersistentPodState. A nil old means that the object
// is new. Objects of other versions are converted first.
func ValidatePersistentPodState(old, obj *v1beta1.PersistentPodState, context PersistentPodStateContext) field.ErrorList {
	p := persistentPodState(obj, context)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if old.Spec.TargetReference != obj.Spec.TargetReference {
		updates.forbidden(field.NewPath("spec", "targetRef"), "cannot be changed: make another PersistentPodState")
	}
	return append(updates.list, p.since(persistentPodState(old, context).list)...)
}

// persistentPodState checks one PersistentPodState among others.
func persistentPodState(obj *v1beta1.PersistentPodState, context PersistentPodStateContext) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	spec, path := &obj.Spec, field.NewPath("spec")
	p.stateTarget(path.Child("targetRef"), obj, context)
	if spec.RequiredPersistentTopology == nil && len(spec.PreferredPersistentTopology) == 0 {
		p.required(path.Child("requiredPersistentTopology"), "set it or preferredPersistentTopology: pods come back to nodes with the labels named there")
	}
	for i := range spec.PreferredPersistentTopology {
		p.weight(path.Child("preferredPersistentTopology").Index(i), spec.PreferredPersistentTopology[i].Weight)
	}
	if policy := spec.PersistentPodStateRetentionPolicy; policy != "" {
		oneOf(p, path.Child("persistentPodStateRetentionPolicy"), policy,
			v1beta1.PersistentPodStateRetentionPolicyWhenScaled, v1beta1.PersistentPodStateRetentionPolicyWhenDeleted)
	}
	return p
}

func (p *problems) stateTarget(path *field.Path, obj *v1beta1.PersistentPodState, context PersistentPodStateContext) {
	ref := &obj.Spec.TargetReference
	target, complete := p.workloadOf(path, ref.APIVersion, ref.Kind, ref.Name)
	if !complete {
		return
	}
	known := target.kind == "StatefulSet" && isOneOf(target.group, knownTargets["StatefulSet"])
	if !known && !target.among(context.Allowed) {
		p.invalid(path, target.kind+"."+target.group, "must be a StatefulSet: an administrator may add another kind to "+
			v1beta1.PersistentPodStateWhiteListKey+" in ConfigMap "+v1beta1.ConfigurationName)
	}
	for i := range context.Others {
		other := &context.Others[i]
		if other.Name != obj.Name && other.Namespace == obj.Namespace && sameWorkload(parts(&other.Spec.TargetReference), parts(ref)) {
			p.invalid(path, ref.Name, "is remembered by PersistentPodState "+other.Name+" already: change that one")
		}
	}
}
