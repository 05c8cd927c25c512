// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundPodState = `
metadata: {name: db, namespace: default}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, name: db}
  requiredPersistentTopology: {keys: [kubernetes.io/hostname]}
`

func TestValidatePersistentPodState(t *testing.T) {
	const required, preferred = "spec.requiredPersistentTopology:", "spec.preferredPersistentTopology: "
	context := PersistentPodStateContext{
		Allowed: []schema.GroupKind{{Group: "a.b", Kind: "Game"}},
		Others: []v1beta1.PersistentPodState{
			*edited[v1beta1.PersistentPodState](t, soundPodState),
			*edited[v1beta1.PersistentPodState](t, soundPodState, "metadata.name: other", "spec.targetRef.name: taken"),
			{},
		},
	}
	validate := func(obj *v1beta1.PersistentPodState) field.ErrorList {
		return ValidatePersistentPodState(nil, obj, context)
	}
	runRows(t, soundPodState, validate, map[string]row{
		"sound":                        good(),
		"native StatefulSet":           good("spec.targetRef.apiVersion: apps/v1"),
		"StatefulSet of another group": bad("spec.targetRef: must be a StatefulSet", "spec.targetRef.apiVersion: a.b/v1"),
		"Deployment":                   bad("spec.targetRef: must be a StatefulSet", "spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: a}"),
		"a kind that was allowed":      good("spec.targetRef: {apiVersion: a.b/v1, kind: Game, name: a}"),
		"no apiVersion":                bad("spec.targetRef.apiVersion: name the workload", "spec.targetRef.apiVersion: ''"),
		"no kind":                      bad("spec.targetRef.kind: name the workload", "spec.targetRef.kind: ''"),
		"no name":                      bad("spec.targetRef.name: name the workload", "spec.targetRef.name: ''"),
		"no topology":                  bad("spec.requiredPersistentTopology: set it or preferredPersistentTopology", required),
		"preferred alone":              good(required, preferred+"[{weight: 100, preference: {keys: [a]}}]"),
		"preferred of weight 0":        bad("spec.preferredPersistentTopology[0].weight: between 1 and 100", preferred+"[{weight: 0, preference: {keys: [a]}}]"),
		"retention":                    good("spec.persistentPodStateRetentionPolicy: WhenDeleted"),
		"retention unknown":            bad("spec.persistentPodStateRetentionPolicy: supported values", "spec.persistentPodStateRetentionPolicy: Sometimes"),
		"a target that is taken":       bad("spec.targetRef: by PersistentPodState other already", "spec.targetRef.name: taken", "spec.targetRef.apiVersion: apps.kruise.io/v1alpha1"),
		"the native set of that name":  good("spec.targetRef.name: taken", "spec.targetRef.apiVersion: apps/v1"),
	})
	old := edited[v1beta1.PersistentPodState](t, soundPodState, "metadata.resourceVersion: '1'")
	obj := edited[v1beta1.PersistentPodState](t, soundPodState, "metadata.resourceVersion: '1'", "spec.persistentPodStateRetentionPolicy: WhenScaled")
	compare(t, ValidatePersistentPodState(old, obj, context), nil)
	obj = edited[v1beta1.PersistentPodState](t, soundPodState, "metadata.resourceVersion: '1'", "spec.targetRef.apiVersion: apps.kruise.io/v1alpha1")
	compare(t, ValidatePersistentPodState(old, obj, context), []string{"spec.targetRef: cannot be changed"})
}
